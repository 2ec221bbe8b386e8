import Foundation

/// Fetches subscriptions by name, or all of a database.
open class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The subscriptions to fetch. More than fit into one request are fetched with several.
  open var subscriptionIDs: [CKSubscription.ID]?

  /// Called once for each subscription.
  open var perSubscriptionResultBlock: ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `fetchSubscriptionsResultBlock`, not called where that is set. Failures of single items come as
  /// one `partialFailure`.
  open var fetchSubscriptionCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?

  private var wantsAll = false

  public required override init() { super.init() }

  /// Makes an operation that fetches these subscriptions.
  public convenience init(subscriptionIDs: [CKSubscription.ID]) {
    self.init()
    self.subscriptionIDs = subscriptionIDs
  }

  /// Fetches all subscriptions of the database.
  open class func fetchAllSubscriptionsOperation() -> Self {
    let operation = self.init()
    operation.wantsAll = true
    return operation
  }

  override func run() async {
    let results: ItemResults<CKSubscription.ID, CKSubscription>
    if wantsAll {
      do {
        let all = try await target().allSubscriptions()
        let byID = Dictionary(all.map { ($0.subscriptionID, Result<_, any Error>.success($0)) }) { first, _ in first }
        results = ItemResults(all.map(\.subscriptionID), .success(byID))
      } catch {
        results = ItemResults([], .failure(error))
      }
    } else {
      let ids = subscriptionIDs ?? []
      results = await ItemResults(ids) { try await target().subscriptions(for: ids) }
    }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<CKSubscription.ID, CKSubscription>) {
    for (id, result) in results.items { perSubscriptionResultBlock?(id, result) }
    if let fetchSubscriptionsResultBlock {
      fetchSubscriptionsResultBlock(results.whole)
    } else {
      fetchSubscriptionCompletionBlock?(results.valuesByID, results.olderError)
    }
  }
}
