import Foundation

extension CKError {
  /// What went wrong; the numbers are CloudKit's.
  public enum Code: Int, Sendable {
    /// The client or the service came upon a fault of its own.
    case internalError = 1
    /// Some items failed; `partialErrorsByItemID` says which. Only completion blocks of the old style see it.
    case partialFailure = 2
    /// There is no way to the service.
    case networkUnavailable = 3
    /// The network failed on the way.
    case networkFailure = 4
    /// The service knows no such container.
    case badContainer = 5
    /// The service cannot answer now; try again after `retryAfterSeconds`.
    case serviceUnavailable = 6
    /// Too many requests; try again after `retryAfterSeconds`.
    case requestRateLimited = 7
    /// The app may not use the container.
    case missingEntitlement = 8
    /// There is no account, or this device was removed from it.
    case notAuthenticated = 9
    /// The user may not do this.
    case permissionFailure = 10
    /// There is no such record, zone or subscription.
    case unknownItem = 11
    /// The request is wrong in itself.
    case invalidArguments = 12
    /// Deprecated; never thrown.
    case resultsTruncated = 13
    /// The record changed since it was fetched; userInfo has the three records to merge.
    case serverRecordChanged = 14
    /// The service refuses the request, as when the schema lacks a field.
    case serverRejectedRequest = 15
    /// The file of an asset is not there.
    case assetFileNotFound = 16
    /// The file of an asset changed while it was saved.
    case assetFileModified = 17
    /// This version of the app may no longer use the service.
    case incompatibleVersion = 18
    /// Another record has the same value in a unique field.
    case constraintViolation = 19
    /// The task or operation was cancelled.
    case operationCancelled = 20
    /// The change token is too old or of another feed; start again without one.
    case changeTokenExpired = 21
    /// Nothing is wrong with this item, but another of its atomic batch failed.
    case batchRequestFailed = 22
    /// The zone has too much to do; try again after `retryAfterSeconds`.
    case zoneBusy = 23
    /// The database cannot do this, as a zone in the public one.
    case badDatabase = 24
    /// There is no space left in the account.
    case quotaExceeded = 25
    /// There is no such zone.
    case zoneNotFound = 26
    /// The request or a record is too large; send less at once.
    case limitExceeded = 27
    /// The user erased the zone in the settings.
    case userDeletedZone = 28
    /// The share has too many participants.
    case tooManyParticipants = 29
    /// The record is shared by another share.
    case alreadyShared = 30
    /// The target of a reference or a parent is missing.
    case referenceViolation = 31
    /// The account is managed, and its manager forbids this.
    case managedAccountRestricted = 32
    /// The participant must prove who they are.
    case participantMayNeedVerification = 33
    /// The answer was lost: whether the request took effect is unknown.
    case serverResponseLost = 34
    /// The bytes of an asset cannot be had now.
    case assetNotAvailable = 35
    /// The account is there, but cannot be used now.
    case accountTemporarilyUnavailable = 36
    /// The share has this participant already.
    case participantAlreadyInvited = 37

    /// Lets `catch CKError.serverRecordChanged` and `case CKError.zoneNotFound` match an error of any type.
    public static func ~= (match: Self, error: any Error) -> Bool { (error as? CKError)?.code == match }
  }

  /// The client or the service came upon a fault of its own.
  public static var internalError: Code { .internalError }
  /// Some items failed; `partialErrorsByItemID` says which. Only completion blocks of the old style see it.
  public static var partialFailure: Code { .partialFailure }
  /// There is no way to the service.
  public static var networkUnavailable: Code { .networkUnavailable }
  /// The network failed on the way.
  public static var networkFailure: Code { .networkFailure }
  /// The service knows no such container.
  public static var badContainer: Code { .badContainer }
  /// The service cannot answer now; try again after `retryAfterSeconds`.
  public static var serviceUnavailable: Code { .serviceUnavailable }
  /// Too many requests; try again after `retryAfterSeconds`.
  public static var requestRateLimited: Code { .requestRateLimited }
  /// The app may not use the container.
  public static var missingEntitlement: Code { .missingEntitlement }
  /// There is no account, or this device was removed from it.
  public static var notAuthenticated: Code { .notAuthenticated }
  /// The user may not do this.
  public static var permissionFailure: Code { .permissionFailure }
  /// There is no such record, zone or subscription.
  public static var unknownItem: Code { .unknownItem }
  /// The request is wrong in itself.
  public static var invalidArguments: Code { .invalidArguments }
  /// Deprecated; never thrown.
  public static var resultsTruncated: Code { .resultsTruncated }
  /// The record changed since it was fetched; userInfo has the three records to merge.
  public static var serverRecordChanged: Code { .serverRecordChanged }
  /// The service refuses the request, as when the schema lacks a field.
  public static var serverRejectedRequest: Code { .serverRejectedRequest }
  /// The file of an asset is not there.
  public static var assetFileNotFound: Code { .assetFileNotFound }
  /// The file of an asset changed while it was saved.
  public static var assetFileModified: Code { .assetFileModified }
  /// This version of the app may no longer use the service.
  public static var incompatibleVersion: Code { .incompatibleVersion }
  /// Another record has the same value in a unique field.
  public static var constraintViolation: Code { .constraintViolation }
  /// The task or operation was cancelled.
  public static var operationCancelled: Code { .operationCancelled }
  /// The change token is too old or of another feed; start again without one.
  public static var changeTokenExpired: Code { .changeTokenExpired }
  /// Nothing is wrong with this item, but another of its atomic batch failed.
  public static var batchRequestFailed: Code { .batchRequestFailed }
  /// The zone has too much to do; try again after `retryAfterSeconds`.
  public static var zoneBusy: Code { .zoneBusy }
  /// The database cannot do this, as a zone in the public one.
  public static var badDatabase: Code { .badDatabase }
  /// There is no space left in the account.
  public static var quotaExceeded: Code { .quotaExceeded }
  /// There is no such zone.
  public static var zoneNotFound: Code { .zoneNotFound }
  /// The request or a record is too large; send less at once.
  public static var limitExceeded: Code { .limitExceeded }
  /// The user erased the zone in the settings.
  public static var userDeletedZone: Code { .userDeletedZone }
  /// The share has too many participants.
  public static var tooManyParticipants: Code { .tooManyParticipants }
  /// The record is shared by another share.
  public static var alreadyShared: Code { .alreadyShared }
  /// The target of a reference or a parent is missing.
  public static var referenceViolation: Code { .referenceViolation }
  /// The account is managed, and its manager forbids this.
  public static var managedAccountRestricted: Code { .managedAccountRestricted }
  /// The participant must prove who they are.
  public static var participantMayNeedVerification: Code { .participantMayNeedVerification }
  /// The answer was lost: whether the request took effect is unknown.
  public static var serverResponseLost: Code { .serverResponseLost }
  /// The bytes of an asset cannot be had now.
  public static var assetNotAvailable: Code { .assetNotAvailable }
  /// The account is there, but cannot be used now.
  public static var accountTemporarilyUnavailable: Code { .accountTemporarilyUnavailable }
  /// The share has this participant already.
  public static var participantAlreadyInvited: Code { .participantAlreadyInvited }
}
