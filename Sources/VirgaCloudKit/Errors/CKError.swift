public import Foundation

/// Why something with CloudKit failed.
///
/// Every error that this module throws is one of these values, also those inside `partialErrorsByItemID`. On Linux an
/// `NSError` made from one cannot be cast back: keep the value.
public struct CKError: CustomNSError, Hashable, Error, @unchecked Sendable {
  // Unchecked for userInfo, whose values this module sets: texts, numbers, records and errors, all Sendable.
  /// What kind of failure it is. Apps act on this.
  public let code: Code
  /// Particulars by the keys of this module, such as `CKErrorRetryAfterKey`, and a text for people.
  public let userInfo: [String: Any]

  /// Makes an error, as a test of an app needs one.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  package init(_ code: Code, _ description: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: description])
  }

  /// The error that an `NSError` of CloudKit's domain describes. A code that is not known is an `internalError`.
  public init(_nsError error: NSError) {
    precondition(error.domain == CKErrorDomain, "Only errors of the domain \(CKErrorDomain) are CloudKit errors.")
    self.init(Code(rawValue: error.code) ?? .internalError, userInfo: error.userInfo)
  }

  public var _nsError: NSError { NSError(domain: CKErrorDomain, code: code.rawValue, userInfo: userInfo) }

  public static var errorDomain: String { CKErrorDomain }
  public var errorCode: Int { code.rawValue }
  public var errorUserInfo: [String: Any] { userInfo }

  public static func == (left: CKError, right: CKError) -> Bool {
    left.code == right.code && NSDictionary(dictionary: left.userInfo) == NSDictionary(dictionary: right.userInfo)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension CKError {
  /// What failed, for people. In English; made for a log more than for a dialog.
  public var localizedDescription: String {
    userInfo[NSLocalizedDescriptionKey] as? String ?? "The operation failed (CKError \(code.rawValue), \(code))."
  }

  /// The error of each item, by what the operation works on: record, zone and subscription identifiers, share URLs.
  public var partialErrorsByItemID: [AnyHashable: any Error]? {
    userInfo[CKPartialErrorsByItemIDKey] as? [AnyHashable: any Error]
  }

  /// Seconds to wait before another try.
  public var retryAfterSeconds: Double? { (userInfo[CKErrorRetryAfterKey] as? NSNumber)?.doubleValue }

  /// The record as it was before both changes; nil if the service keeps that version no longer.
  public var ancestorRecord: CKRecord? { userInfo[CKRecordChangedErrorAncestorRecordKey] as? CKRecord }

  /// The record as it is now. Merge into this one and save it: it alone has the current tag.
  public var serverRecord: CKRecord? { userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord }

  /// The record as this device tried to save it.
  public var clientRecord: CKRecord? { userInfo[CKRecordChangedErrorClientRecordKey] as? CKRecord }
}

extension CKError: CustomStringConvertible {
  public var description: String { "CKError \(code.rawValue) (\(code)): \(localizedDescription)" }
}

/// The domain of the `NSError` that a `CKError` is bridged to.
public let CKErrorDomain: String = "CKErrorDomain"
/// Of `partialFailure`: the error of each item, as `[AnyHashable: any Error]`.
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"
/// Of `serverRecordChanged`: the record as it was before both changes, where the service still has it.
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"
/// Of `serverRecordChanged`: the record as it is on the service.
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"
/// Of `serverRecordChanged`: the record that was to be saved.
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"
/// Seconds to wait before the next try, as an `NSNumber`.
public let CKErrorRetryAfterKey: String = "CKRetryAfter"
/// Of `zoneNotFound` and `userDeletedZone`: an `NSNumber` that is true if the user reset their encrypted data.
public let CKErrorUserDidResetEncryptedDataKey: String = "CKErrorUserDidResetEncryptedData"
