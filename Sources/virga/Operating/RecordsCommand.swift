import VirgaCommandLine
import VirgaModel

/// `virga records …`: anybody's records, for whoever runs the server.
enum RecordsCommand {
  typealias Option = CommandSpec.Option

  static let zone = Option(name: "--zone", value: "NAME", help: "The zone. Default: _defaultZone.")
  static let json = Option(name: "--json", value: nil, help: "Print each record as JSON on one line.")
  static let limit = Option(name: "--limit", value: "N", help: "At most this many. Default: all.")

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
    name: "--file", value: "FILE", help: "Read the names from JSON lines with recordName; - is standard input.")
  private static let namesNotes = "The other commands print such lines with --json."

  static let get = spec("get", "Prints records.", operands: ["[NAME…]"], [names], notes: namesNotes)
  static let query = spec(
    "query", "Prints records of a type. Uses the indexes that the schema declares.",
    [
      Option(name: "--type", value: "TYPE", help: "The record type."),
      Option(
        name: "--filter", value: "JSON", help: "A filter in the form of the web service; may be repeated.",
        isRepeatable: true),
      Option(name: "--sort", value: "FIELD", help: "Sorts by a field; -FIELD sorts descending."),
      limit,
    ])
  static let list = spec(
    "list", "Lists all records of a zone in the order of their last change. Needs no index.",
    [Option(name: "--type", value: "TYPE", help: "Only records of this type."), limit])
  static let changes = spec(
    "changes", "Prints what changed in a zone since a change token, and the token for the next call.",
    [
      Option(name: "--since", value: "TOKEN", help: "Where the last call stopped. Default: from the beginning."), limit,
    ],
    notes: """
      The default zone and the public database have no change feed. With --json, each line is a record, or a name with
      "deleted":true. The last line has the token as syncToken.
      """)
  static let put = spec(
    "put", "Saves records from JSON (recordName, recordType, fields). Existing records are overwritten.",
    [
      Option(
        name: "--file", value: "FILE", help: "The JSON: one record, or one a line; - is standard input. Default: -."),
      Option(
        name: "--if-tag", value: "TAG",
        help: "Save only if the record on the server has this change tag. For one record."
      ),
      Option(
        name: "--if-unchanged", value: nil,
        help: "Save only if each record on the server has the recordChangeTag in its JSON."),
      Option(name: "--if-new", value: nil, help: "Save only records that do not exist yet."),
    ],
    notes: "If a record cannot be saved, the command names it and saves the others.")
  static let delete = spec(
    "delete", "Deletes records. Their versions are kept for up to 30 days.", operands: ["[NAME…]"], [names, .yes],
    notes: namesNotes)
  static let history = spec(
    "history", "Prints the versions of a record that the server still keeps, newest first.", operands: ["NAME"])
  static let restore = spec(
    "restore", "Saves an earlier version of a record as its newest.", operands: ["NAME"],
    [Option(name: "--tag", value: "TAG", help: "The version's change tag. Default: the newest earlier version.")])

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
      throw .usage(arguments.spec.name, "--limit must be a number above 0, not \(text)")
    }
    return limit
  }
}
