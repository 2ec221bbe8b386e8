public import Foundation

/// Why something with CloudKit failed.
///
/// Every error that this module throws is one of these values, also those inside `partialErrorsByItemID`. On Linux an
/// `NSError` made from one cannot be cast back: keep the value.
public struct CKError: CustomNSError, Hashable, Error, @unchecked Sendable {
  // Unchecked for userInfo, whose values this module sets: texts, numbers, records and errors, all Sendable.
  public let code: Code
  public let userInfo: [String: Any]

  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    self.code = code
    self.userInfo = userInfo
  }

  package init(_ code: Code, _ description: String) {
    self.init(code, userInfo: [NSLocalizedDescriptionKey: description])
  }

  /// The error that an `NSError` of CloudKit's domain describes. A code that is not known is an `internalError`.
  public init(_nsError error: NSError) {
    precondition(error.domain == CKErrorDomain, "Only an error of the domain \(CKErrorDomain) is one of CloudKit's.")
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

public let CKErrorDomain: String = "CKErrorDomain"
public let CKPartialErrorsByItemIDKey: String = "CKPartialErrors"
public let CKRecordChangedErrorAncestorRecordKey: String = "AncestorRecord"
public let CKRecordChangedErrorServerRecordKey: String = "ServerRecord"
public let CKRecordChangedErrorClientRecordKey: String = "ClientRecord"
public let CKErrorRetryAfterKey: String = "CKRetryAfter"
public let CKErrorUserDidResetEncryptedDataKey: String = "CKErrorUserDidResetEncryptedData"
