import Foundation

/// Which messages are written: what `VIRGA_LOG_LEVEL` says.
///
/// The text is a level, or levels by subsystem or category, separated by commas: `info`, `error,com.example.app=debug`,
/// `none,com.example.app:sync=info`. The most specific one counts. Without the variable it is `default`: notices, errors and
/// faults are written, information and debugging are not, as Apple's log keeps them by default.
struct LogLevels: Equatable, Sendable {
  static let variable = "VIRGA_LOG_LEVEL"
  static let names = ["debug", "info", "default", "error", "fault", "none"]

  /// The lowest severity that is written; one above a fault's writes nothing.
  private var lowest = OSLogType.default.severity
  private var bySource: [String: Int] = [:]

  init() {}

  /// - Throws: The part of the text that is no level.
  init(_ text: String) throws(UnknownLevel) {
    for part in text.split(separator: ",") {
      let pieces = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      guard let name = pieces.last, let severity = Self.names.firstIndex(of: name.lowercased()) else {
        throw UnknownLevel(text: String(part))
      }
      if pieces.count == 2 { bySource[pieces[0]] = severity } else { lowest = severity }
    }
  }

  struct UnknownLevel: Error, CustomStringConvertible {
    let text: String

    var description: String { "there is no level \(text)" }
  }

  func includes(_ type: OSLogType, subsystem: String, category: String) -> Bool {
    let severity = bySource["\(subsystem):\(category)"] ?? bySource[subsystem] ?? lowest
    return type.severity >= severity
  }
}
