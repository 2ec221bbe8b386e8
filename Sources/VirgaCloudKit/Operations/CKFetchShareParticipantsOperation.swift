import Foundation

/// Looks up people to add to a share.
public final class CKFetchShareParticipantsOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  public var userIdentityLookupInfos: [CKUserIdentity.LookupInfo]?

  /// Called once for each who was asked for.
  public var perShareParticipantResultBlock:
    ((CKUserIdentity.LookupInfo, Result<CKShare.Participant, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  public var fetchShareParticipantsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perShareParticipantResultBlock`, not called where that is set.
  public var shareParticipantFetchedBlock: ((CKShare.Participant) -> Void)?
  /// The older form of `fetchShareParticipantsResultBlock`, not called where that is set. Those who are not found come
  /// as one `partialFailure`.
  public var fetchShareParticipantsCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

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
