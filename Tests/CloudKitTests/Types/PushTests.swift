import CloudKit
import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaWire

/// The numbers in pushes, which are those of Apple's service and not of the API.
@Suite struct PushTests {
  private static let folder = Corpus.webServices?.deletingLastPathComponent().appending(path: "push")

  private func notification(_ ck: String) throws -> CKNotification? {
    let object = try JSONSerialization.jsonObject(with: Data(#"{"aps":{"content-available":1},"ck":\#(ck)}"#.utf8))
    return CKNotification(fromRemoteNotificationDictionary: try #require(object as? [String: Any]))
  }

  private func scope(_ notification: CKNotification?) -> CKDatabase.Scope? {
    switch notification {
    case let query as CKQueryNotification: query.databaseScope
    case let zone as CKRecordZoneNotification: zone.databaseScope
    case let database as CKDatabaseNotification: database.databaseScope
    default: nil
    }
  }

  @Test(.enabled(if: folder != nil, "the corpus is not beside the repository"))
  func payloadsInTheShapeOfLoggedOnesAreRead() throws {
    let expected: [String: (CKNotification.NotificationType, CKDatabase.Scope, String?)] = [
      "database-private-coredata": (.database, .private, nil), "database-private-with-aux": (.database, .private, nil),
      "query-private-created-silent": (.query, .private, "F339154A-0000-4000-8000-00000000000A"),
      "query-public-created-silent": (.query, .public, "E3FB89A0-0000-4000-8000-00000000000C"),
      "query-alert-badge-sound": (.query, .private, "C8FA4AC1-0000-4000-8000-00000000000E"),
      "query-additional-fields": (.query, .public, "93B69669-0000-4000-8000-000000000010"),
      // Written by hand in its source, where it says 2.
      "zone-fet": (.recordZone, .public, nil),
    ]
    let folder = try #require(Self.folder)
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
    #expect(files.map { String($0.dropLast(5)) }.sorted() == expected.keys.sorted())
    for file in files {
      let object = try JSONSerialization.jsonObject(with: try Data(contentsOf: folder.appending(path: file)))
      let push = CKNotification(fromRemoteNotificationDictionary: try #require(object as? [String: Any]))
      let (type, database, record) = try #require(expected[String(file.dropLast(5))])
      #expect(push?.notificationType == type && scope(push) == database, "\(file)")
      #expect(push?.containerIdentifier == "iCloud.com.example.notes")
      guard let query = push as? CKQueryNotification else { continue }
      #expect(query.recordID?.recordName == record && query.queryNotificationReason == .recordCreated)
      #expect(query.recordID?.zoneID == .default)
      if file.contains("fields") { #expect(query.recordFields?["title"] as? String == "Example title (3)") }
      if file.contains("badge") { #expect(query.alertBody == "New Note" && query.badge == 180) }
    }
  }

  @Test(arguments: [(1, CKDatabase.Scope.private), (2, .public), (3, .shared)])
  func databasesHaveTheNumbersOfTheWire(number: Int, expected: CKDatabase.Scope) throws {
    for kind in ["met", "fet", "qry"] {
      let push = try notification(#"{"\#(kind)":{"dbs":\#(number),"zid":"Z","zoid":"_abc","rid":"r"}}"#)
      #expect(scope(push) == expected, "\(kind)")
      let zone = (push as? CKRecordZoneNotification)?.recordZoneID ?? (push as? CKQueryNotification)?.recordID?.zoneID
      if kind != "met" { #expect(zone?.ownerName == (expected == .shared ? "_abc" : CKCurrentUserDefaultName)) }
    }
    #expect(DatabaseScope(pushNumber: number)?.pushNumber == number)
    #expect(DatabaseScope.allCases.count == 3 && Set(DatabaseScope.allCases.map(\.pushNumber)).count == 3)
  }

  @Test(arguments: [(1, CKQueryNotification.Reason.recordCreated), (2, .recordUpdated), (3, .recordDeleted)])
  func reasonsHaveTheNumbersOfTheWire(number: Int, expected: CKQueryNotification.Reason) throws {
    let push = try notification(#"{"qry":{"dbs":1,"fo":\#(number),"rid":"r"}}"#) as? CKQueryNotification
    #expect(push?.queryNotificationReason == expected)
  }

  /// Nobody is told of their private database because something else was said.
  @Test(arguments: [
    #"{"met":{"dbs":4}}"#, #"{"met":{"dbs":0}}"#, #"{"fet":{"dbs":"private","zid":"Z"}}"#, #"{"qry":{"dbs":-1}}"#,
    #"{"qry":{"dbs":1,"fo":4}}"#, #"{"qry":{"dbs":1,"fo":0}}"#, #"{"qry":{"dbs":1,"fo":"created"}}"#,
  ])
  func numbersThatNobodyKnowsMakeNoNotification(ck: String) throws {
    #expect(try notification(ck) == nil)
  }

  /// A push that grew too large leaves parts out; the reason is among them.
  @Test func whatWasLeftOutIsNoUnknownNumber() throws {
    let push = try #require(try notification(#"{"p":1,"qry":{"dbs":3,"sid":"s","zid":"Z","zoid":"_abc"}}"#))
    #expect(push.isPruned && scope(push) == .shared && push.subscriptionID == "s")
  }
}
