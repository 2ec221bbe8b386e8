public import Foundation
import Synchronization

extension CKOperation {
  /// How operations are carried out. It keeps which values were set: those that were not come from the operation's group.
  public final class Configuration: NSObject, NSCopying, Sendable {
    private let values: Mutex<ConfigurationValues>

    public override init() { values = Mutex(ConfigurationValues()) }

    init(_ explicit: ConfigurationValues) { values = Mutex(explicit) }

    /// The values that were set.
    var explicit: ConfigurationValues { values.withLock { $0 } }

    /// nil is the default container.
    public var container: CKContainer? {
      get { explicit.container }
      set { values.withLock { $0.container = newValue } }
    }

    /// How urgent the work is. Utility and background work waits out a failing network, up to
    /// `timeoutIntervalForResource`; all other work fails at once.
    public var qualityOfService: QualityOfService {
      get { explicit.qualityOfService ?? .default }
      set { values.withLock { $0.qualityOfService = newValue } }
    }

    /// Kept, and without effect: here nobody tells networks apart.
    public var allowsCellularAccess: Bool {
      get { explicit.allowsCellularAccess ?? true }
      set { values.withLock { $0.allowsCellularAccess = newValue } }
    }

    /// Kept, and without effect: no daemon carries an operation on when its process ends, so a long-lived one is an
    /// ordinary one, and no container ever knows of any.
    public var isLongLived: Bool {
      get { explicit.isLongLived ?? false }
      set { values.withLock { $0.isLongLived = newValue } }
    }

    /// Seconds that one request may take; 60 unless set.
    public var timeoutIntervalForRequest: TimeInterval {
      get { explicit.timeoutIntervalForRequest ?? ConfigurationValues.requestTimeout }
      set { values.withLock { $0.timeoutIntervalForRequest = newValue } }
    }

    /// Seconds for which utility and background work is tried again; a week unless set.
    public var timeoutIntervalForResource: TimeInterval {
      get { explicit.timeoutIntervalForResource ?? ConfigurationValues.resourceTimeout }
      set { values.withLock { $0.timeoutIntervalForResource = newValue } }
    }

    public func copy(with zone: NSZone? = nil) -> Any { Configuration(explicit) }
  }
}

/// The values of a configuration that were set; nil for those that were not.
struct ConfigurationValues: Sendable {
  var container: CKContainer?
  var qualityOfService: QualityOfService?
  var allowsCellularAccess: Bool?
  var isLongLived: Bool?
  var timeoutIntervalForRequest: TimeInterval?
  var timeoutIntervalForResource: TimeInterval?

  /// Defaults, in seconds (CKOperation.h).
  static let requestTimeout: TimeInterval = 60
  static let resourceTimeout: TimeInterval = 7 * 86_400

  /// These values, and others where these say nothing.
  func over(_ others: ConfigurationValues?) -> ConfigurationValues {
    guard let others else { return self }
    return ConfigurationValues(
      container: container ?? others.container, qualityOfService: qualityOfService ?? others.qualityOfService,
      allowsCellularAccess: allowsCellularAccess ?? others.allowsCellularAccess,
      isLongLived: isLongLived ?? others.isLongLived,
      timeoutIntervalForRequest: timeoutIntervalForRequest ?? others.timeoutIntervalForRequest,
      timeoutIntervalForResource: timeoutIntervalForResource ?? others.timeoutIntervalForResource)
  }
}
