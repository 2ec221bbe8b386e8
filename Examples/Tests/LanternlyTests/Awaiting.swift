import Foundation

/// Waiting for other processes. They send this one no event, so their files and their end are looked at until the time is over.
enum Awaiting {
  /// - Returns: What `body` found; `nil` if the time is over.
  static func first<Found>(within seconds: Int = 40, _ body: () throws -> Found?) rethrows -> Found? {
    let deadline = ContinuousClock.now + .seconds(seconds)
    repeat {
      if let found = try body() { return found }
      // The other process works meanwhile.
      usleep(20_000)
    } while ContinuousClock.now < deadline
    return nil
  }

  static func until(within seconds: Int = 40, _ condition: () throws -> Bool) rethrows -> Bool {
    try first(within: seconds) { try condition() ? true : nil } != nil
  }

  /// Whether a file comes to hold a text.
  static func text(_ text: String, in path: String) -> Bool { until { read(path).contains(text) } }

  /// What stands behind the beginning of a file's line.
  static func line(_ start: String, in path: String) -> String? {
    first { read(path).split(separator: "\n").first { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) } }
  }

  static func read(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }
}
