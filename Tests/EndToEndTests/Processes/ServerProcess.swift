import Foundation
import Glibc

/// A real `virga serve` on a free port, which can be killed and started again on the same port and data.
///
///     let server = try await ServerProcess()
///     …
///     await server.kill()                     // SIGKILL, as in a crash
///     try await server.restart()              // same port, same data
///     #expect(await server.terminate().code == 0)
///
/// What still runs when the value goes away is killed, and its folder removed.
final class ServerProcess {
  /// The folder of data and homes; removed at the end.
  let folder: TemporaryFolder
  let data: String
  private let options: [String]
  private let environment: [String: String]
  private(set) var port: UInt16
  private(set) var run: ProgramRun
  /// What it printed when it started.
  private(set) var greeting: String

  var endpoint: String { "http://127.0.0.1:\(port)" }

  /// Starts a server and waits until it has printed its address.
  /// - Parameter data: Its data folder; one in the temporary folder if left out.
  /// - Parameter environment: Variables that it sees besides the few that every program here does.
  /// - Parameter options: Further options, such as `["--enrolment", "invite"]`. `--ephemeral` replaces the data folder.
  init(
    data: String? = nil, port: UInt16 = 0, options: [String] = [], environment: [String: String] = [:]
  ) async throws {
    folder = try TemporaryFolder()
    self.data = data ?? folder.path + "/data"
    self.options = options
    self.environment = environment
    (run, self.port, greeting) = try await Self.start(
      data: self.data, port: port, options: options, environment: environment)
  }

  deinit { run.signal(SIGKILL) }

  private static func start(
    data: String, port: UInt16, options: [String], environment: [String: String]
  ) async throws -> (ProgramRun, UInt16, String) {
    let place = options.contains("--ephemeral") ? [] : ["--data", data]
    let run = try ProgramRun(["serve", "--port", String(port)] + place + options, environment: environment)
    let (found, greeting) = try await run.printed { text -> (UInt16, String)? in
      // The greeting is written at once, so that its last line is there when its first one is.
      guard text.contains("Try next:"), let match = text.firstMatch(of: /http:\/\/[^ ]*:([0-9]+)\n/) else { return nil }
      return UInt16(match.output.1).map { ($0, text) }
    }
    return (run, found, greeting)
  }

  /// Ends it as a crash would, and waits until it is gone.
  func kill() async {
    run.signal(SIGKILL)
    _ = await run.end()
  }

  /// Asks it to end, and waits until it has.
  @discardableResult
  func terminate(_ signal: Int32 = SIGTERM) async -> ProgramRun.End {
    run.signal(signal)
    return await run.end()
  }

  /// Starts it again on the same port and data.
  func restart() async throws {
    (run, port, greeting) = try await Self.start(data: data, port: port, options: options, environment: environment)
  }

  /// The arguments of an account command against this server, for a home in its folder.
  func account(_ words: String..., home: String) -> [String] {
    ["account"] + words + ["--endpoint", endpoint, "--home", "\(folder.path)/\(home)"]
  }
}

/// A new folder below the system's temporary one, removed with the value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.path + "/virga-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
