import Foundation

/// A program of the system, run to its end.
enum Command {
  private static func path(of name: String) -> String? {
    ["/usr/bin/", "/bin/", "/usr/sbin/", "/usr/local/bin/"].map { $0 + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Whether all of them are there; says which is not.
  static func isInstalled(_ names: String...) async throws -> Bool {
    for name in names where path(of: name) == nil {
      print("skipped: \(name) is not installed (apt-get install \(name))")
      return false
    }
    return true
  }

  static func run(_ words: String...) async throws -> (code: Int32, output: String) { try await run(words) }

  /// - Returns: The exit code, and what it printed, errors too.
  static func run(_ words: [String]) async throws -> (code: Int32, output: String) {
    let process = Process()
    guard let name = words.first, let path = path(of: name) else {
      throw ProgramRun.Unexpected(description: "\(words) is not installed")
    }
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = Array(words.dropFirst())
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return (process.terminationStatus, String(decoding: data, as: UTF8.self))
  }
}
