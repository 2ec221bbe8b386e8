public import Foundation
import Synchronization

/// Marks operations that belong to one task of the user. Here it only names them.
public final class CKOperationGroup: NSObject, Sendable {
  /// Roughly how much will travel.
  public enum TransferSize: Int, Sendable {
    case unknown = 0
    case kilobytes = 1
    case megabytes = 2
    case tensOfMegabytes = 3
    case hundredsOfMegabytes = 4
    case gigabytes = 5
    case tensOfGigabytes = 6
    case hundredsOfGigabytes = 7
  }

  private struct Values: Sendable {
    var name: String?
    var quantity = 0
    var expectedSendSize = TransferSize.unknown
    var expectedReceiveSize = TransferSize.unknown
  }

  public let operationGroupID = UUID().uuidString
  private let values = Mutex(Values())

  public override init() {}

  public var name: String? {
    get { values.withLock { $0.name } }
    set { values.withLock { $0.name = newValue } }
  }

  public var quantity: Int {
    get { values.withLock { $0.quantity } }
    set { values.withLock { $0.quantity = newValue } }
  }

  public var expectedSendSize: TransferSize {
    get { values.withLock { $0.expectedSendSize } }
    set { values.withLock { $0.expectedSendSize = newValue } }
  }

  public var expectedReceiveSize: TransferSize {
    get { values.withLock { $0.expectedReceiveSize } }
    set { values.withLock { $0.expectedReceiveSize = newValue } }
  }
}
