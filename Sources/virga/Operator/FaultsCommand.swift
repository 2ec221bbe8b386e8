import Foundation
import VirgaAuth
import VirgaCommandLine

/// `virga faults …`: what goes wrong on purpose on a server.
enum FaultsCommand {
  private static let notes = """
    Faults happen only in the development environment. They last until you replace or clear them, or the server stops.
    docs/faults.md describes the plan.

    Only the operator may do this. virga finds the operator's token by itself if the server runs on this machine as the same
    user. Otherwise put it into $VIRGA_OPERATOR_TOKEN.

    Exit codes: 0 done · 1 the plan is refused · 64 wrong arguments · 66 file cannot be read · 69 server not reached ·
    77 not the operator · 78 the home's files cannot be used
    """

  private static func spec(_ name: String, _ summary: String, operands: [CommandSpec.Operand] = []) -> CommandSpec {
    CommandSpec(
      name: "virga faults \(name)", summary: summary, operands: operands, options: OperatorClient.options, notes: notes)
  }

  private static let show = spec("show", "Shows the faults and how often each has happened, as JSON.")
  private static let set = spec(
    "set", "Sets a plan of faults, in place of the old one; - is standard input.", operands: ["FILE"])
  private static let clear = spec("clear", "Removes the plan.")

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
