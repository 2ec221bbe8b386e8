import Foundation
import Synchronization

/// What the program finds around it: tests hand in their own.
package struct Surroundings: Sendable {
  package var environment: [String: String]
  package var now: @Sendable () -> Moment
  package var output: Output
  package var screen: Screen
  /// What stands on standard input; `nil` if a person sits there who was not told to type it. Throws if it is no text.
  package var input: @Sendable (_ isExpected: Bool) throws -> String?
  /// Opens a file in an editor and tells its exit code.
  package var edit: @Sendable (_ command: String, _ path: String) -> Int32

  /// Asks a person something to which the answer is yes or no.
  package var confirm: @Sendable (_ question: String) -> Bool

  package init(
    environment: [String: String], now: @escaping @Sendable () -> Moment, output: Output, screen: Screen = Screen(),
    input: @escaping @Sendable (Bool) throws -> String?, edit: @escaping @Sendable (String, String) -> Int32,
    confirm: @escaping @Sendable (String) -> Bool = { _ in false }
  ) {
    self.environment = environment
    self.now = now
    self.output = output
    self.screen = screen
    self.input = input
    self.edit = edit
    self.confirm = confirm
  }

  /// The process's own.
  package static func process() -> Surroundings {
    occupyStandardDescriptors()
    let environment = ProcessInfo.processInfo.environment
    return Surroundings(
      environment: environment, now: { Moment.now }, output: .standard, screen: .process(environment),
      input: { isExpected in
        if !isExpected && isatty(STDIN_FILENO) != 0 { return nil }
        return try Self.text(FileHandle.standardInput.readDataToEndOfFile())
      },
      edit: { command, path in Editor.run(command, path) }, confirm: ask)
  }

  private static func ask(_ question: String) -> Bool {
    FileHandle.standardError.write(Data((question + " ").utf8))
    let answer = readLine()?.trimmingCharacters(in: .whitespaces).lowercased() ?? ""
    return ["y", "yes", "s", "sí", "si"].contains(answer)
  }

  /// Whoever closed the output (`>&-`) is not to get it into the next file that is opened.
  private static func occupyStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one. Writing to it fails as it did before.
      _ = open("/dev/null", O_RDONLY)
    }
  }

  /// Bytes in another encoding would lose what they say: they are refused.
  static func text(_ bytes: Data) throws(CommandFailure) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw CommandFailure(.failure, .textIsNotUTF8) }
    return text
  }

  package var languageCode: String {
    for name in ["LC_ALL", "LC_MESSAGES", "LANG"] {
      if let value = environment[name], !value.isEmpty { return String(value.prefix { $0.isLetter }).lowercased() }
    }
    return "en"
  }
}

extension Moment {
  package static var now: Moment {
    Moment(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
  }
}

/// Where lines go. Each is written at once, so that a reader of a pipe sees it.
package struct Output: Sendable {
  package var line: @Sendable (String) -> Void
  /// Many lines at once, of which nobody waits for the single one.
  package var block: @Sendable ([String]) -> Void
  package var problem: @Sendable (String) -> Void
  /// Whether a line is lost that somebody waits for.
  package var hasFailed: @Sendable () -> Bool

  package init(
    line: @escaping @Sendable (String) -> Void, problem: @escaping @Sendable (String) -> Void,
    hasFailed: @escaping @Sendable () -> Bool = { false }
  ) {
    self.line = line
    block = { lines in for text in lines { line(text) } }
    self.problem = problem
    self.hasFailed = hasFailed
  }

  package static let standard: Output = {
    var output = Output(
      line: { writeOut($0 + "\n") }, problem: { _ = write($0 + "\n", to: STDERR_FILENO) },
      hasFailed: { isLineLost.load(ordering: .relaxed) })
    output.block = { writeOut($0.joined(separator: "\n") + "\n") }
    return output
  }()

  private static let isLineLost = Atomic(false)

  private static func writeOut(_ text: String) {
    if write(text, to: STDOUT_FILENO) == .failed { isLineLost.store(true, ordering: .relaxed) }
  }

  enum Outcome {
    case written
    /// Where nobody reads any longer there is nobody to tell.
    case unread
    case failed
  }

  static func write(_ text: String, to descriptor: Int32) -> Outcome {
    let bytes = Array(text.utf8)
    var position = 0
    while position < bytes.count {
      let count = bytes[position...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        position += count
      } else if errno != EINTR {
        return errno == EPIPE || (errno == EIO && isTerminal(descriptor)) ? .unread : .failed
      }
    }
    return .written
  }

  /// Also of a terminal that is gone, which `isatty` denies.
  private static func isTerminal(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFCHR
  }
}
