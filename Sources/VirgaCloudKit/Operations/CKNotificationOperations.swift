import Foundation

// What once looked after pushes that a service kept for each user. Apple has retired these operations, and its service keeps
// none: there is never one to fetch, and marking them read and setting a badge change nothing.

/// Fetches pushes that were missed. Apple has retired it: fetch what changed instead. There are never any.
open class CKFetchNotificationChangesOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// Where the reader stopped. Kept, and without effect.
  open var previousServerChangeToken: CKServerChangeToken?
  /// Kept, and without effect.
  open var resultsLimit = 0
  /// Always false.
  open var moreComing: Bool { false }
  /// Never called.
  open var notificationChangedBlock: ((CKNotification) -> Void)?
  /// Given the token that the operation was made with.
  open var fetchNotificationChangesCompletionBlock: ((CKServerChangeToken?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that goes on from a token.
  public convenience init(previousServerChangeToken: CKServerChangeToken?) {
    self.init()
    self.previousServerChangeToken = previousServerChangeToken
  }

  override func run() async {
    let result = Result { try checkCancellation() }
    await callBack { self.fetchNotificationChangesCompletionBlock?(self.previousServerChangeToken, result.error) }
  }
}

/// Marks pushes as read. Apple has retired it. It changes nothing, and succeeds.
open class CKMarkNotificationsReadOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The pushes to mark.
  open var notificationIDs: [CKNotification.ID]
  /// Called once, at the end.
  open var markNotificationsReadCompletionBlock: (([CKNotification.ID]?, (any Error)?) -> Void)?

  public convenience override init() { self.init(notificationIDsToMarkRead: []) }

  /// Makes an operation that marks these pushes as read.
  public init(notificationIDsToMarkRead notificationIDs: [CKNotification.ID]) {
    self.notificationIDs = notificationIDs
    super.init()
  }

  override func run() async {
    let result = Result { try checkCancellation() }
    await callBack {
      self.markNotificationsReadCompletionBlock?(result.error == nil ? self.notificationIDs : nil, result.error)
    }
  }
}

/// Sets the number that the service sends with a push. Apple has retired it. It changes nothing, and succeeds.
open class CKModifyBadgeOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The number to set.
  open var badgeValue: Int
  /// Called once, at the end.
  open var modifyBadgeCompletionBlock: (((any Error)?) -> Void)?

  public convenience override init() { self.init(badgeValue: 0) }

  /// Makes an operation that sets the badge's number.
  public init(badgeValue: Int) {
    self.badgeValue = badgeValue
    super.init()
  }

  override func run() async {
    let result = Result { try checkCancellation() }
    await callBack { self.modifyBadgeCompletionBlock?(result.error) }
  }
}
