public import Foundation
import Synchronization

/// Marks operations that belong to one task of the user, and holds the configuration that they have in common.
public final class CKOperationGroup: NSObject, NSSecureCoding, Sendable {
  /// Roughly how much will travel.
  public enum TransferSize: Int, Sendable {
    /// Nothing is known of the size.
    case unknown = 0
    /// Less than a megabyte.
    case kilobytes = 1
    /// 1 to 10 megabytes.
    case megabytes = 2
    /// 10 to 100 megabytes.
    case tensOfMegabytes = 3
    /// 100 megabytes to a gigabyte.
    case hundredsOfMegabytes = 4
    /// 1 to 10 gigabytes.
    case gigabytes = 5
    /// 10 to 100 gigabytes.
    case tensOfGigabytes = 6
    /// More than 100 gigabytes.
    case hundredsOfGigabytes = 7
  }

  private struct Values: Sendable {
    var name: String?
    var quantity = 0
    var expectedSendSize = TransferSize.unknown
    var expectedReceiveSize = TransferSize.unknown
  }

  /// Names this group; it is the same after archiving.
  public let operationGroupID: String
  private let values: Mutex<Values>
  private let configuration = Mutex(CKOperation.Configuration())

  public override init() {
    operationGroupID = UUID().uuidString
    values = Mutex(Values())
  }

  /// What holds for operations whose own configuration says nothing. A configuration that is set is copied; nil brings
  /// back the defaults.
  public var defaultConfiguration: CKOperation.Configuration! {
    get { configuration.withLock { $0 } }
    set {
      let copy = newValue.map { CKOperation.Configuration($0.explicit) } ?? CKOperation.Configuration()
      configuration.withLock { $0 = copy }
    }
  }

  /// What the user does with these operations, for logs. It should not hold anything personal.
  public var name: String? {
    get { values.withLock { $0.name } }
    set { values.withLock { $0.name = newValue } }
  }

  /// How many operations belong to the group, for logs; 0 is unknown.
  public var quantity: Int {
    get { values.withLock { $0.quantity } }
    set { values.withLock { $0.quantity = newValue } }
  }

  /// About how much the group sends, for logs.
  public var expectedSendSize: TransferSize {
    get { values.withLock { $0.expectedSendSize } }
    set { values.withLock { $0.expectedSendSize = newValue } }
  }

  /// About how much the group receives, for logs.
  public var expectedReceiveSize: TransferSize {
    get { values.withLock { $0.expectedReceiveSize } }
    set { values.withLock { $0.expectedReceiveSize = newValue } }
  }

  /// The same group is one of the same identifier, as it comes out of an archive.
  public override func isEqual(_ object: Any?) -> Bool {
    (object as? CKOperationGroup)?.operationGroupID == operationGroupID
  }
  public override var hash: Int { operationGroupID.hashValue }

  // MARK: Archives

  private struct Archived: Codable {
    var id: String
    var name: String?
    var quantity: Int
    var sendSize: Int
    var receiveSize: Int
    var qualityOfService: Int?
    var allowsCellularAccess: Bool?
    var requestTimeout: TimeInterval?
    var resourceTimeout: TimeInterval?
  }

  public static var supportsSecureCoding: Bool { true }

  /// - Returns: A new group if the archive holds something else.
  public init(coder aDecoder: NSCoder) {
    let archived = aDecoder.archived(Archived.self)
    operationGroupID = archived?.id ?? UUID().uuidString
    var values = Values()
    values.name = archived?.name
    values.quantity = archived?.quantity ?? 0
    values.expectedSendSize = archived.flatMap { TransferSize(rawValue: $0.sendSize) } ?? .unknown
    values.expectedReceiveSize = archived.flatMap { TransferSize(rawValue: $0.receiveSize) } ?? .unknown
    self.values = Mutex(values)
    super.init()
    var explicit = ConfigurationValues()
    explicit.qualityOfService = archived?.qualityOfService.flatMap { QualityOfService(rawValue: $0) }
    explicit.allowsCellularAccess = archived?.allowsCellularAccess
    explicit.timeoutIntervalForRequest = archived?.requestTimeout
    explicit.timeoutIntervalForResource = archived?.resourceTimeout
    defaultConfiguration = CKOperation.Configuration(explicit)
  }

  /// Writes everything but the default configuration's container.
  public func encode(with coder: NSCoder) {
    let values = values.withLock { $0 }
    let explicit = defaultConfiguration.explicit
    coder.archive(
      Archived(
        id: operationGroupID, name: values.name, quantity: values.quantity,
        sendSize: values.expectedSendSize.rawValue, receiveSize: values.expectedReceiveSize.rawValue,
        qualityOfService: explicit.qualityOfService?.rawValue, allowsCellularAccess: explicit.allowsCellularAccess,
        requestTimeout: explicit.timeoutIntervalForRequest, resourceTimeout: explicit.timeoutIntervalForResource))
  }
}
