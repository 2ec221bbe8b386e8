import Foundation

/// Saves and deletes subscriptions.
open class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// At most 400 together with `subscriptionIDsToDelete`.
  open var subscriptionsToSave: [CKSubscription]?
  /// Those that do not exist count as deleted.
  open var subscriptionIDsToDelete: [CKSubscription.ID]?

  /// Called once for each subscription to save.
  open var perSubscriptionSaveBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
  /// Called once for each subscription to delete.
  open var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `modifySubscriptionsResultBlock`, not called where that is set. Failures of single items come as
  /// one `partialFailure`.
  open var modifySubscriptionsCompletionBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that saves and deletes these subscriptions.
  public convenience init(
    subscriptionsToSave: [CKSubscription]? = nil, subscriptionIDsToDelete: [CKSubscription.ID]? = nil
  ) {
    self.init()
    self.subscriptionsToSave = subscriptionsToSave
    self.subscriptionIDsToDelete = subscriptionIDsToDelete
  }

  override func run() async {
    let subscriptions = subscriptionsToSave ?? []
    let deletions = subscriptionIDsToDelete ?? []
    let saved: ItemResults<CKSubscription.ID, CKSubscription>
    let deleted: ItemResults<CKSubscription.ID, Void>
    do {
      let results = try await target().modifySubscriptions(saving: subscriptions, deleting: deletions)
      saved = ItemResults(subscriptions.map(\.subscriptionID), .success(results.saveResults))
      deleted = ItemResults(deletions, .success(results.deleteResults))
    } catch {
      saved = ItemResults(subscriptions.map(\.subscriptionID), .failure(error))
      deleted = ItemResults(deletions, .failure(error))
    }
    await callBack { self.tell(saved, deleted) }
  }

  private func tell(
    _ saved: ItemResults<CKSubscription.ID, CKSubscription>, _ deleted: ItemResults<CKSubscription.ID, Void>
  ) {
    for item in saved.items { perSubscriptionSaveBlock?(item.id, item.result) }
    for item in deleted.items { perSubscriptionDeleteBlock?(item.id, item.result) }
    if let modifySubscriptionsResultBlock {
      modifySubscriptionsResultBlock(saved.whole)
    } else {
      let error = CKError.older(saved.whole, saved.errors.merging(deleted.errors) { first, _ in first })
      let deletedIDs = deleted.items.filter { $0.result.error == nil }.map(\.id)
      modifySubscriptionsCompletionBlock?(saved.values, deletedIDs, error)
    }
  }
}
