/// Text that goes with a signpost; the same as a log's message.
public typealias SignpostMetadata = OSLogMessage

/// Marks where something begins and ends. There is no Instruments here to draw it: signposts are lines of the level `debug`,
/// and the end of an interval says how long it took.
public struct OSSignposter: Sendable {
  private let log: OSLog

  public init() { log = .default }
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }
  public init(subsystem: String, category: OSLog.Category) { log = OSLog(subsystem: subsystem, category: category) }
  public init(logHandle: OSLog) { log = logHandle }
  public init(logger: Logger) { log = logger.handle }

  public static let disabled = OSSignposter(logHandle: .disabled)

  public var isEnabled: Bool { log.signpostsEnabled }

  public func makeSignpostID() -> OSSignpostID { OSSignpostID(log: log) }
  public func makeSignpostID(from object: AnyObject) -> OSSignpostID { OSSignpostID(log: log, object: object) }

  public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    begin(name, id, nil)
  }

  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata
  ) -> OSSignpostIntervalState {
    begin(name, id, message)
  }

  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) { end(name, state, nil) }

  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata) {
    end(name, state, message)
  }

  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive) {
    SignpostLine.write(.event, name, id, log) { "" }
  }

  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata) {
    SignpostLine.write(.event, name, id, log) { message.rendered(showsPrivate: LogOutput.showsPrivate) }
  }

  /// Runs the task between the two ends of an interval, which ends as well if the task throws.
  public func withIntervalSignpost<T>(
    _ name: StaticString, id: OSSignpostID = .exclusive, around task: () throws -> T
  ) rethrows -> T {
    let state = begin(name, id, nil)
    defer { end(name, state, nil) }
    return try task()
  }

  public func withIntervalSignpost<T>(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: SignpostMetadata, around task: () throws -> T
  ) rethrows -> T {
    let state = begin(name, id, message)
    defer { end(name, state, nil) }
    return try task()
  }

  private func begin(_ name: StaticString, _ id: OSSignpostID, _ message: SignpostMetadata?) -> OSSignpostIntervalState
  {
    SignpostLine.write(.begin, name, id, log) { message?.rendered(showsPrivate: LogOutput.showsPrivate) ?? "" }
    return OSSignpostIntervalState(id: id)
  }

  private func end(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: SignpostMetadata?) {
    SignpostLine.write(.end, name, state.id, log) {
      let text = message?.rendered(showsPrivate: LogOutput.showsPrivate) ?? ""
      return "took \(ContinuousClock.now - state.start)" + (text.isEmpty ? "" : "; " + text)
    }
  }
}

/// What `beginInterval` gives and `endInterval` takes.
public final class OSSignpostIntervalState: Sendable {
  let id: OSSignpostID
  let start = ContinuousClock.now

  init(id: OSSignpostID) { self.id = id }

  /// An interval that began elsewhere, with its identifier; its time counts from here.
  public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { OSSignpostIntervalState(id: id) }
}

enum SignpostLine {
  static func write(
    _ type: OSSignpostType, _ name: StaticString, _ id: OSSignpostID, _ log: OSLog, _ message: () -> String
  ) {
    LogOutput.write(.debug, from: log) {
      let number = id == .exclusive ? "" : " #" + String(id.rawValue, radix: 16)
      let text = message()
      return "signpost \(type.name) \(name)\(number)" + (text.isEmpty ? "" : ": " + text)
    }
  }
}
