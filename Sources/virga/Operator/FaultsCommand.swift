import Foundation
import VirgaAuth

/// `virga faults …`: what goes wrong on purpose on a server.
enum FaultsCommand {
  private static let notes = """
    Faults happen in the development environment only, and last until they are replaced, cleared, or the server stops. What
    a plan may say stands in docs/faults.md.

    The server is asked as its operator: with the token in $VIRGA_OPERATOR_TOKEN, or with the one that virga finds by itself
    for a server of the same user on this machine.

    Exit codes: 0 done · 1 the plan is refused · 64 wrong arguments · 66 file cannot be read · 69 server not reached ·
    77 not the operator · 78 the home's files cannot be used
    """

  private static func spec(_ name: String, _ summary: String, operands: [String] = []) -> CommandSpec {
    CommandSpec(
      name: "virga faults \(name)", summary: summary, operands: operands, options: OperatorClient.options, notes: notes)
  }

  private static let show = spec("show", "Shows the faults and how often each was met, as JSON.")
  private static let set = spec(
    "set", "Puts a plan of faults in the place of the one before; - is standard input.", operands: ["FILE"])
  private static let clear = spec("clear", "Takes the plan away.")

  private static let help = """
    What goes wrong on purpose on a server, for tests.

    Usage: virga faults show | set FILE | clear

    Each explains itself with --help.
    """

  static func run(_ words: [String]) async throws {
    let rest = Array(words.dropFirst())
    switch words.first {
    case "show": try await perform(rest, show) { _ in ("GET", []) }
    case "set": try await perform(rest, set) { ("PUT", try plan(at: $0.operands[0])) }
    case "clear": try await perform(rest, clear) { _ in ("DELETE", []) }
    case "help", "--help", "-h": Terminal.print(help)
    case nil: throw Failure.usage("virga faults", "a command is missing")
    case let word?: throw Failure.usage("virga faults", "unknown command \(word)")
    }
  }

  private static func perform(
    _ words: [String], _ spec: CommandSpec, _ request: (Arguments) throws -> (method: String, body: [UInt8])
  ) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    let (method, body) = try request(arguments)
    let answer = try await OperatorClient(arguments).send(method, "faults", query: [], body: body)
    Terminal.print(String(decoding: answer, as: UTF8.self))
  }

  private static func plan(at path: String) throws -> [UInt8] {
    if path == "-" { return Array(FileHandle.standardInput.readDataToEndOfFile()) }
    guard let data = FileManager.default.contents(atPath: path) else {
      throw Failure(.unreadable, "cannot read \(path)")
    }
    return Array(data)
  }
}
