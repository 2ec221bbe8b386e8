import CloudKit
import Foundation
import Testing

struct ErrorTests {
  @Test func errorsBridgeToNSError() {
    let error: any Error = CKError(.zoneNotFound, userInfo: [NSLocalizedDescriptionKey: "gone"])
    let bridged = error as NSError
    #expect(bridged.domain == CKErrorDomain)
    #expect(bridged.code == 26)
    #expect(CKError.Code(rawValue: bridged.code) == .zoneNotFound)
    #expect(bridged.localizedDescription == "gone")
    #expect(error.localizedDescription == "gone")
    #expect((error as? CKError)?.code == .zoneNotFound)
  }

  @Test func codesMatchInCatchClauses() {
    func name(_ error: any Error) -> String {
      do { throw error } catch CKError.serverRecordChanged {
        return "conflict"
      } catch let error as CKError where error.code == .zoneNotFound {
        return "zone"
      } catch { return "other" }
    }
    #expect(name(CKError(.serverRecordChanged)) == "conflict")
    #expect(name(CKError(.zoneNotFound)) == "zone")
    #expect(name(CocoaError(.fileNoSuchFile)) == "other")
  }

  @Test func userInfoIsReadThroughProperties() {
    let record = CKRecord(recordType: "T")
    let item = CKRecord.ID(recordName: "r")
    let inner = CKError(.serverRecordChanged, userInfo: [CKRecordChangedErrorServerRecordKey: record])
    let partial: [AnyHashable: any Error] = [item: inner]
    let error = CKError(
      .partialFailure, userInfo: [CKPartialErrorsByItemIDKey: partial, CKErrorRetryAfterKey: NSNumber(value: 2.5)])
    #expect((error.partialErrorsByItemID?[item] as? CKError)?.serverRecord === record)
    #expect(error.retryAfterSeconds == 2.5)
    #expect(error.ancestorRecord == nil)
  }

  @Test(arguments: [
    (1, "internalError"), (14, "serverRecordChanged"), (27, "limitExceeded"), (37, "participantAlreadyInvited"),
  ])
  func numbersAreCloudKits(number: Int, name: String) throws {
    #expect("\(try #require(CKError.Code(rawValue: number)))" == name)
  }

  @Test func notificationsComeAsTheSubclassOfTheirType() throws {
    let push: [AnyHashable: Any] = [
      "aps": ["content-available": 1],
      "ck": ["cid": "iCloud.x", "nid": "n", "met": ["sid": "all", "dbs": 1]] as [AnyHashable: Any],
    ]
    let notification = try #require(CKNotification(fromRemoteNotificationDictionary: push))
    #expect(notification is CKDatabaseNotification)
    #expect(notification.notificationType == .database)
    #expect(notification.subscriptionID == "all")
    #expect(notification.containerIdentifier == "iCloud.x")
    #expect((notification as? CKDatabaseNotification)?.databaseScope == .private)
    #expect(CKNotification(fromRemoteNotificationDictionary: ["aps": ["alert": "hi"]]) == nil)

    let zone: [AnyHashable: Any] = ["ck": ["fet": ["zid": "Notes", "zoid": "_abc", "dbs": 1]]]
    let zoneNotification = CKNotification(fromRemoteNotificationDictionary: zone) as? CKRecordZoneNotification
    #expect(zoneNotification?.recordZoneID == CKRecordZone.ID(zoneName: "Notes"))
  }
}
