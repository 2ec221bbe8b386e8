import Foundation
import Glibc

/// Standard input, output and error. Written at once and whole, since scripts wait for a line before they go on.
enum Terminal {
  static func print(_ text: String) { write(text + "\n", to: STDOUT_FILENO) }
  static func complain(_ text: String) { write(text + "\n", to: STDERR_FILENO) }

  /// Prints a value as one line of JSON.
  static func print(json value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Asks for yes or no; no more input means no.
  static func confirm(_ question: String) -> Bool {
    write("\(question) [y/N] ", to: STDERR_FILENO)
    guard let answer = readLine() else {
      complain("")
      return false
    }
    return ["y", "yes"].contains(answer.trimmingCharacters(in: .whitespaces).lowercased())
  }

  private static func write(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      // Nobody listens any more: there is nobody to tell either.
      if count < 0 && errno != EINTR { return }
      rest = rest.dropFirst(max(0, count))
    }
  }
}
