import Foundation
import Synchronization

/// Where messages go: a line each on standard error.
///
/// `VIRGA_LOG_LEVEL` says which, and `VIRGA_LOG_PRIVATE=show` writes private values out. Both are read once, at the first message.
enum LogOutput {
  private struct Settings: Sendable {
    var levels = LogLevels()
    var showsPrivate = false
  }

  private static let settings: Settings = {
    var settings = Settings()
    let environment = ProcessInfo.processInfo.environment
    settings.showsPrivate = environment["VIRGA_LOG_PRIVATE"] == "show"
    if let text = environment[LogLevels.variable] {
      do throws(LogLevels.UnknownLevel) {
        settings.levels = try LogLevels(text)
      } catch {
        let names = LogLevels.names.joined(separator: ", ")
        write(
          "\(LogLevels.variable): \"\(error.text)\" is no level; use one of \(names), or SUBSYSTEM=LEVEL, separated by commas"
        )
      }
    }
    return settings
  }()

  static var showsPrivate: Bool { settings.showsPrivate }

  static func writes(_ type: OSLogType, from log: OSLog) -> Bool {
    log.isWritten && settings.levels.includes(type, subsystem: log.subsystem, category: log.category)
  }

  /// Writes a message if its level is written; the message is rendered only then.
  static func write(_ type: OSLogType, from log: OSLog, _ message: () -> String) {
    guard writes(type, from: log) else { return }
    var source = log.subsystem
    if !log.category.isEmpty { source += source.isEmpty ? log.category : ":" + log.category }
    let prefix = source.isEmpty ? "" : "[\(source)] "
    write("\(timestamp(Date())) \(type.name) \(prefix)\(message())")
  }

  static func timestamp(_ date: Date) -> String {
    date.formatted(
      Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateTimeSeparator(.space)
        .time(includingFractionalSeconds: true))
  }

  /// One call writes the whole line, so that lines of several threads do not mix. A message of several lines goes on behind a mark,
  /// so that nobody's value can begin a line that looks like a message.
  private static func write(_ line: String) {
    let single = line.replacingOccurrences(of: "\r", with: "").replacingOccurrences(of: "\n", with: "\n  | ")
    FileHandle.standardError.write(Data((single + "\n").utf8))
  }
}
