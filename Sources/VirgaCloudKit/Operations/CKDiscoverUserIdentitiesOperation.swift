import Foundation

/// Finds people. Apple has retired it: use `CKFetchShareParticipantsOperation`. Only the record of a user leads to somebody.
open class CKDiscoverUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Whom to look for. Only record IDs of users lead to somebody here.
  open var userIdentityLookupInfos: [CKUserIdentity.LookupInfo] = []

  /// Called for each who is known.
  open var userIdentityDiscoveredBlock: ((CKUserIdentity, CKUserIdentity.LookupInfo) -> Void)?
  /// Called once, at the end. Fails only if nothing could be asked.
  open var discoverUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `discoverUserIdentitiesResultBlock`, not called where that is set.
  open var discoverUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that looks for these people.
  public convenience init(userIdentityLookupInfos: [CKUserIdentity.LookupInfo]) {
    self.init()
    self.userIdentityLookupInfos = userIdentityLookupInfos
  }

  override func run() async {
    let infos = userIdentityLookupInfos
    let result: Result<[(CKUserIdentity, CKUserIdentity.LookupInfo)], any Error>
    do {
      let found = try await targetContainer().identities(for: infos.map(\.model))
      result = .success(infos.compactMap { info in found[info.model].map { (CKUserIdentity($0), info) } })
    } catch {
      result = .failure(error)
    }
    await callBack {
      for (identity, info) in (try? result.get()) ?? [] { self.userIdentityDiscoveredBlock?(identity, info) }
      if let block = self.discoverUserIdentitiesResultBlock {
        block(result.map { _ in })
      } else {
        self.discoverUserIdentitiesCompletionBlock?(result.error)
      }
    }
  }
}

/// Finds the people of an address book. Apple has retired it. There is none here, so it finds nobody.
open class CKDiscoverAllUserIdentitiesOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Never called.
  open var userIdentityDiscoveredBlock: ((CKUserIdentity) -> Void)?
  /// Called once, at the end, and always with success: there is no address book.
  open var discoverAllUserIdentitiesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `discoverAllUserIdentitiesResultBlock`, not called where that is set.
  open var discoverAllUserIdentitiesCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  override func run() async {
    let result = Result { try checkCancellation() }
    await callBack {
      if let block = self.discoverAllUserIdentitiesResultBlock {
        block(result)
      } else {
        self.discoverAllUserIdentitiesCompletionBlock?(result.error)
      }
    }
  }
}
