import Foundation
import Glibc
import Synchronization
import VirgaCommandLine

/// Standard input, output and error. Written at once and whole, since scripts wait for a line before they go on.
enum Terminal {
  /// Prints to standard output. Where that cannot be written, as on a full disk, the program ends with a code that says
  /// so: whoever keeps the output must not take a part of it for the whole.
  static func print(_ text: String) {
    let code = write(text + "\n", to: STDOUT_FILENO)
    // Nobody listens any more: there is nobody to tell either.
    if code == 0 || code == EPIPE { return }
    complain("virga: cannot write the output: \(String(cString: strerror(code)))")
    let isFull = code == ENOSPC || code == EDQUOT || code == EFBIG
    exit((isFull ? Failure.Code.full : .unwritable).rawValue)
  }

  /// Prints what nothing depends on: a server goes on without it.
  static func announce(_ text: String) { _ = write(text + "\n", to: STDOUT_FILENO) }

  static func complain(_ text: String) { _ = write(text + "\n", to: STDERR_FILENO) }

  /// Prints a value as one line of JSON.
  static func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// What shows the progress of the work, wiped before anything else is written.
  private static let meter = Mutex<ProgressMeter?>(nil)

  /// Shows on standard error how far some work is while `body` does it, if that is a terminal.
  static func following<Value>(
    _ label: String, _ unit: ProgressLine.Unit = .bytes, total: Int64? = nil,
    _ body: (ProgressMeter) async throws -> Value
  ) async rethrows -> Value {
    let meter = ProgressMeter(label, unit: unit, total: total)
    Self.meter.withLock { $0 = meter }
    defer {
      Self.meter.withLock { $0 = nil }
      meter.finish()
    }
    return try await body(meter)
  }

  /// Asks for yes or no; no more input means no.
  static func confirm(_ question: String) -> Bool {
    _ = write("\(question) [y/N] ", to: STDERR_FILENO)
    guard let answer = readLine() else {
      complain("")
      return false
    }
    return ["y", "yes"].contains(answer.trimmingCharacters(in: .whitespaces).lowercased())
  }

  /// - Returns: 0, or the system's code of what went wrong.
  private static func write(_ text: String, to descriptor: Int32) -> Int32 {
    meter.withLock { $0?.wipe() }
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      let code = errno
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if code == EAGAIN {
        // Another program made the pipe one that does not wait.
        var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&place, 1, -1)
      } else if code != EINTR {
        return code
      }
    }
    return 0
  }
}
