import Foundation
import VirgaAuth
import VirgaCommandLine

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

  private static func spec(_ name: String, _ summary: String, operands: [CommandSpec.Operand] = []) -> CommandSpec {
    CommandSpec(
      name: "virga faults \(name)", summary: summary, operands: operands, options: OperatorClient.options, notes: notes)
  }

  private static let show = spec("show", "Shows the faults and how often each was met, as JSON.")
  private static let set = spec(
    "set", "Puts a plan of faults in the place of the one before; - is standard input.", operands: ["FILE"])
  private static let clear = spec("clear", "Takes the plan away.")

  static let commands = [
    Command(show) { try await send("GET", $0) },
    Command(set) { try await send("PUT", $0, try plan(at: $0.operands[0])) },
    Command(clear) { try await send("DELETE", $0) },
  ]

  private static func send(_ method: String, _ arguments: Arguments, _ body: [UInt8] = []) async throws {
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
