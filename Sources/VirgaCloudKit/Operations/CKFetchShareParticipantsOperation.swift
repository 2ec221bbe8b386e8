import Foundation

/// Looks up people to add to a share.
open class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Whom to look up. Only record IDs of users lead to somebody here; others fail with `unknownItem`.
  open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

  /// Called once for each who was asked for.
  open var perShareParticipantResultBlock:
    ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perShareParticipantResultBlock`, not called where that is set.
  open var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?
  /// The older form of `fetchShareParticipantsResultBlock`, not called where that is set. Those who are not found come
  /// as one `partialFailure`.
  open var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that looks these people up.
  public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
    self.init()
    self.userIdentityLookupInfos = userIdentityLookupInfos
  }

  override func run() async {
    let infos = userIdentityLookupInfos ?? []
    let results = await ItemResults(infos) { try await targetContainer().shareParticipants(for: infos) }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<CKUserIdentity.LookupInfo, CKShare.Participant>) {
    for (info, result) in results.items {
      if let perShareParticipantResultBlock {
        perShareParticipantResultBlock(info, result)
      } else if case .success(let participant) = result {
        shareParticipantFetchedBlock?(participant)
      }
    }
    if let fetchShareParticipantsResultBlock {
      fetchShareParticipantsResultBlock(results.whole)
    } else {
      fetchShareParticipantsCompletionBlock?(results.olderError)
    }
  }
}
