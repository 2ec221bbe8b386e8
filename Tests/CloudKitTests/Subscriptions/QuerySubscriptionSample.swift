import CloudKit
import Foundation

// Lines as apps for Apple's systems have them; they must compile as they stand.

class TicketWatcher {
  let database: CKDatabase

  init(database: CKDatabase) { self.database = database }

  func subscribe(to status: String) async throws {
    let predicate = NSPredicate(format: "status == %@", status)
    let subscription = CKQuerySubscription(
      recordType: "Ticket", predicate: predicate, subscriptionID: "tickets-\(status)",
      options: [.firesOnRecordCreation, .firesOnRecordUpdate, .firesOnRecordDeletion])

    let info = CKSubscription.NotificationInfo()
    info.titleLocalizationKey = "%1$@"
    info.titleLocalizationArgs = ["title"]
    info.alertBody = "A ticket changed."
    info.shouldBadge = true
    info.soundName = "default"
    info.category = "TICKET"
    info.desiredKeys = ["title", "status", "votes"]
    subscription.notificationInfo = info

    try await database.save(subscription)
  }

  func subscribeOnce(in zoneID: CKRecordZone.ID, completion: @escaping @Sendable ((any Error)?) -> Void) {
    let subscription = CKQuerySubscription(
      recordType: "Ticket", predicate: NSPredicate(value: true), subscriptionID: "once",
      options: [.firesOnRecordCreation, .firesOnce])
    subscription.zoneID = zoneID
    subscription.notificationInfo = CKSubscription.NotificationInfo(shouldSendContentAvailable: true)
    let operation = CKModifySubscriptionsOperation(subscriptionsToSave: [subscription], subscriptionIDsToDelete: nil)
    operation.qualityOfService = .utility
    operation.modifySubscriptionsResultBlock = { result in
      switch result {
      case .success: completion(nil)
      case .failure(let error): completion(error)
      }
    }
    database.add(operation)
  }

  func describe(_ userInfo: [AnyHashable: Any]) -> String? {
    guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo),
      notification.notificationType == .query, let query = notification as? CKQueryNotification,
      let recordID = query.recordID
    else { return nil }
    let title = query.recordFields?["title"] as? String ?? ""
    switch query.queryNotificationReason {
    case .recordCreated: return "new: \(recordID.recordName) \(title)"
    case .recordUpdated: return "changed: \(recordID.recordName) \(title)"
    case .recordDeleted: return "gone: \(recordID.recordName) \(title)"
    @unknown default: return nil
    }
  }
}
