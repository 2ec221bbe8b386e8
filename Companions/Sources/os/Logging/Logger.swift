/// Writes messages for one part of a program.
///
/// ```swift
/// let logger = Logger(subsystem: "com.example.notes", category: "sync")
/// logger.notice("sent \(count) records to \(zoneName, privacy: .public)")
/// ```
/// A message is one line on standard error. As on Apple's systems, text and objects are private unless the message says
/// otherwise and read as `<private>`, numbers are public, and values are not computed for a message that is not written.
public struct Logger: Sendable {
  private let log: OSLog

  public init() { log = .default }
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }
  public init(_ logObj: OSLog) { log = logObj }

  public func log(_ message: OSLogMessage) { write(.default, message) }
  public func log(level: OSLogType, _ message: OSLogMessage) { write(level, message) }
  /// The level `debug`.
  public func trace(_ message: OSLogMessage) { write(.debug, message) }
  public func debug(_ message: OSLogMessage) { write(.debug, message) }
  public func info(_ message: OSLogMessage) { write(.info, message) }
  /// The level `default`.
  public func notice(_ message: OSLogMessage) { write(.default, message) }
  /// The level `error`.
  public func warning(_ message: OSLogMessage) { write(.error, message) }
  public func error(_ message: OSLogMessage) { write(.error, message) }
  /// The level `fault`.
  public func critical(_ message: OSLogMessage) { write(.fault, message) }
  public func fault(_ message: OSLogMessage) { write(.fault, message) }

  /// Whether a message of that level would be written.
  public func isEnabled(type: OSLogType) -> Bool { log.isEnabled(type: type) }

  var handle: OSLog { log }

  private func write(_ type: OSLogType, _ message: OSLogMessage) {
    LogOutput.write(type, from: log) { message.rendered(showsPrivate: LogOutput.showsPrivate) }
  }
}
