public import Foundation

/// Names the part of a program that messages come from.
///
/// Here messages are lines on standard error; nothing keeps them. `VIRGA_LOG_LEVEL` says from which level on they are written.
public final class OSLog: NSObject, Sendable {
  let subsystem: String
  let category: String
  let isWritten: Bool

  public init(subsystem: String, category: String) {
    self.subsystem = subsystem
    self.category = category
    isWritten = true
  }

  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.rawValue)
  }

  private init(isWritten: Bool) {
    subsystem = ""
    category = ""
    self.isWritten = isWritten
  }

  /// Messages without a subsystem.
  public static let `default` = OSLog(isWritten: true)
  /// Messages that are never written.
  public static let disabled = OSLog(isWritten: false)

  /// Categories that Apple's Instruments knows by name. Here they are names and nothing more.
  public struct Category: Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    public static let dynamicStackTracing = Category(rawValue: "DynamicStackTracing")
  }

  /// Whether a message of that level would be written.
  public func isEnabled(type: OSLogType) -> Bool { LogOutput.writes(type, from: self) }

  /// Whether signposts are written: they are lines of the level `debug`.
  public var signpostsEnabled: Bool { isEnabled(type: .debug) }
}
