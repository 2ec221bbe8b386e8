import VirgaCommandLine
import VirgaModel

/// `virga records …`: anybody's records, for whoever runs the server.
enum RecordsCommand {
  typealias Option = CommandSpec.Option

  static let zone = Option(name: "--zone", value: "NAME", help: "The zone. Default: _defaultZone.")
  static let json = Option(name: "--json", value: nil, help: "Print each record as JSON on one line.")
  static let limit = Option(name: "--limit", value: "N", help: "At most so many. Default: all.")

  private static func spec(
    _ name: String, _ summary: String, operands: [CommandSpec.Operand] = [], _ options: [Option] = [],
    notes: String = ""
  ) -> CommandSpec {
    CommandSpec(
      name: "virga records \(name)", summary: summary, operands: operands,
      options: DatabaseChoice.options + [zone] + options + [json] + OperatorAccess.options,
      notes: (notes.isEmpty ? "" : notes + "\n\n") + OperatorAccess.notes)
  }

  /// What `get` and `delete` say of their input.
  private static let names = Option(
    name: "--file", value: "FILE", help: "Take the names from JSON lines with a recordName each; - is standard input.")
  private static let namesNotes = "What the other commands print with --json is such a file."

  static let get = spec("get", "Prints records.", operands: ["[NAME…]"], [names], notes: namesNotes)
  static let query = spec(
    "query", "Prints records of a type, by the indexes that its schema declares.",
    [
      Option(name: "--type", value: "TYPE", help: "The record type."),
      Option(
        name: "--filter", value: "JSON", help: "A filter as the web service takes it; may be repeated.",
        isRepeatable: true),
      Option(name: "--sort", value: "FIELD", help: "Sorts by a field; -FIELD sorts descending."),
      limit,
    ])
  static let list = spec(
    "list", "Lists all records of a zone, in the order in which they changed. It needs no index.",
    [Option(name: "--type", value: "TYPE", help: "Only those of this type."), limit])
  static let changes = spec(
    "changes", "Prints what changed in a zone since a change token, and the token to go on from.",
    [
      Option(name: "--since", value: "TOKEN", help: "Where the last call stopped. Default: from the beginning."), limit,
    ],
    notes: """
      A default zone and a public database have no change feed. With --json the last line holds the token as syncToken, and
      each line before it is a record or, with "deleted":true, the name of one that was deleted.
      """)
  static let put = spec(
    "put", "Saves records over whatever is there; their JSON (recordName, recordType, fields) comes from a file.",
    [
      Option(
        name: "--file", value: "FILE", help: "One record, or one on each line; - is standard input. Default: -."),
      Option(
        name: "--if-tag", value: "TAG",
        help: "Save only if the record on the server has this change tag; for one record."
      ),
      Option(
        name: "--if-unchanged", value: nil,
        help: "Save only if each record on the server has the recordChangeTag that its JSON has."),
      Option(name: "--if-new", value: nil, help: "Save only what is not there yet."),
    ],
    notes: "What cannot be saved is named, and all else is saved.")
  static let delete = spec(
    "delete", "Deletes records; their versions are kept for a while.", operands: ["[NAME…]"], [names, .yes],
    notes: namesNotes)
  static let history = spec(
    "history", "Prints the versions of a record that are still kept, newest first.", operands: ["NAME"])
  static let restore = spec(
    "restore", "Saves an earlier version of a record as its newest.", operands: ["NAME"],
    [Option(name: "--tag", value: "TAG", help: "The version's change tag. Default: the newest one that was replaced.")])

  static let commands = [
    command(list, list), command(query, query), command(get, get), command(changes, changes), command(put, put),
    command(delete, delete), command(history, history), command(restore, restore),
  ]

  private static func command(
    _ spec: CommandSpec, _ body: @escaping @Sendable (RecordsPlace) async throws -> Void
  ) -> Command {
    Command(spec) { arguments in
      let choice = try DatabaseChoice(arguments)
      let access = try await OperatorAccess(arguments)
      defer { access.close() }
      try await body(RecordsPlace(access: access, choice: choice, arguments: arguments))
    }
  }

  /// - Throws: If `--limit` is no number above 0.
  static func limit(of arguments: Arguments) throws(Failure) -> Int {
    guard let text = arguments.value("--limit") else { return .max }
    guard let limit = Int(text), limit > 0 else {
      throw .usage(arguments.spec.name, "--limit is a number above 0, not \(text)")
    }
    return limit
  }
}
