import Foundation
import VirgaModel
import VirgaSync

extension SyncFailure {
  /// How the engine treats an error.
  init(_ error: any Error) {
    let known = CKError(wrapping: error)
    let kind = error is CKError ? Kind(known.code) : error is CancellationError ? .cancelled : .final
    self.init(kind, retryAfter: known.retryAfterSeconds.map { .seconds($0) }, underlying: known)
    note = Note(code: known.code.rawValue, text: known.localizedDescription)
  }

  /// The error as apps see it.
  var error: CKError {
    if let error = underlying as? CKError { return error }
    if let note, let code = CKError.Code(rawValue: note.code) { return CKError(code, note.text) }
    return switch kind {
    case .unreachable: CKError(.networkFailure, "The service could not be reached.")
    case .throttled: CKError(.requestRateLimited, "The service asks for fewer requests.")
    case .zoneBusy: CKError(.zoneBusy, "The zone is busy.")
    case .noAccount: CKError(.notAuthenticated, "There is no account.")
    case .cancelled: CKError(.operationCancelled, "The sync was cancelled.")
    case .tokenExpired: CKError(.changeTokenExpired, "The zone is read again from the beginning.")
    case .limitExceeded: CKError(.limitExceeded, "The request is too large.")
    case .rejected: CKError(.invalidArguments, "The service could not understand the request.")
    case .broken: CKError(.internalError, "The service sent an answer that is not allowed.")
    case .collateral: CKError(.batchRequestFailed, "Another record of the batch failed.")
    case .conflict: CKError(.serverRecordChanged, "The record has changed in the meantime.")
    case .zoneGone: CKError(.zoneNotFound, "The zone does not exist.")
    case .unprovided: CKError(.internalError, "Changes are pending, but the app gave no batch for them.")
    case .barred: CKError(.badContainer, "The service does not serve this app.")
    case .final: CKError(.internalError, "The sync failed.")
    case .partial: partialError
    }
  }

  /// Says for each item of a send what it failed with.
  private var partialError: CKError {
    var errors: [AnyHashable: any Error] = [:]
    for item in items {
      switch item.name {
      case .record(let record): errors[CKRecord.ID(record)] = item.failure.error
      case .zone(let zone): errors[CKRecordZone.ID(zone)] = item.failure.error
      }
    }
    let first = items.first.map { "; the first: \($0.failure.error.localizedDescription)" } ?? ""
    var userInfo: [String: Any] = [
      NSLocalizedDescriptionKey: "Could not send \(items.count) of the changes\(first)",
      CKPartialErrorsByItemIDKey: errors,
    ]
    if let wait = retryAfter { userInfo[CKErrorRetryAfterKey] = NSNumber(value: wait / .seconds(1)) }
    return CKError(.partialFailure, userInfo: userInfo)
  }
}

extension SyncFailure.Kind {
  fileprivate init(_ code: CKError.Code) {
    switch code {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .serverResponseLost: self = .unreachable
    case .requestRateLimited: self = .throttled
    case .zoneBusy: self = .zoneBusy
    case .notAuthenticated, .accountTemporarilyUnavailable: self = .noAccount
    case .operationCancelled: self = .cancelled
    case .changeTokenExpired: self = .tokenExpired
    case .limitExceeded: self = .limitExceeded
    case .invalidArguments, .serverRejectedRequest: self = .rejected
    case .internalError: self = .broken
    case .batchRequestFailed: self = .collateral
    case .serverRecordChanged, .unknownItem: self = .conflict
    case .zoneNotFound, .userDeletedZone: self = .zoneGone
    case .badContainer, .missingEntitlement, .incompatibleVersion, .managedAccountRestricted: self = .barred
    case .partialFailure, .permissionFailure, .resultsTruncated, .assetFileNotFound, .assetFileModified,
      .constraintViolation, .badDatabase, .quotaExceeded, .tooManyParticipants, .alreadyShared, .referenceViolation,
      .participantMayNeedVerification, .assetNotAvailable, .participantAlreadyInvited:
      self = .final
    }
  }
}

extension CKError {
  /// An error that did not come from the service, as one of this module's.
  init(wrapping error: any Error) {
    if let error = error as? CKError {
      self = error
    } else if error is CancellationError {
      self.init(.operationCancelled, "The task was cancelled.")
    } else {
      let text = "Something failed on this device, not on the server; see NSUnderlyingErrorKey."
      self.init(.internalError, userInfo: [NSLocalizedDescriptionKey: text, NSUnderlyingErrorKey: error])
    }
  }
}
