import CloudKit
import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaWire

/// The numbers in pushes, which are those of Apple's service and not of the API.
@Suite struct PushTests {
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

  /// A payload, and what is read of it.
  struct Payload: CustomTestStringConvertible {
    var name: String
    var json: String
    var type: CKNotification.NotificationType
    var scope: CKDatabase.Scope
    var record: String?
    var title: String?
    var alert: String?
    var badge: Int?
    var testDescription: String { name }
  }

  /// In the form that Apple's service sends: `met` for a database, `fet` for a zone, `qry` for a query.
  private static func own(_ name: String, _ ck: String, aps: String = #""content-available":1"#) -> String {
    #"{"aps":{\#(aps)},"ck":{"ce":2,"cid":"iCloud.com.example.notes","ckuserid":"_5eed","nid":"\#(name)",\#(ck)}}"#
  }

  static let own: [Payload] = [
    Payload(
      name: "database", json: own("n1", #""met":{"dbs":1,"sid":"mine","zid":"Notes","zoid":"_5eed"},"aux":{}"#),
      type: .database, scope: .private),
    Payload(
      name: "zone", json: own("n2", #""fet":{"dbs":1,"sid":"zone","zid":"Notes","zoid":"_defaultOwner"}"#),
      type: .recordZone, scope: .private),
    Payload(
      name: "query, silent",
      json: own("n3", #""qry":{"dbs":1,"fo":1,"rid":"note-1","sid":"q","zid":"_defaultZone","zoid":"_5eed"}"#),
      type: .query, scope: .private, record: "note-1"),
    Payload(
      name: "query with an alert",
      json: own(
        "n4", #""qry":{"dbs":1,"fo":1,"rid":"note-2","sid":"q","zid":"_defaultZone","zoid":"_5eed"}"#,
        aps: #""alert":"A note came","badge":3,"sound":"default""#),
      type: .query, scope: .private, record: "note-2", alert: "A note came", badge: 3),
    Payload(
      name: "query with fields",
      json: own(
        "n5",
        #""qry":{"dbs":2,"fo":1,"rid":"note-3","sid":"q","zid":"_defaultZone","zoid":"_defaultOwner","#
          + #""af":{"title":"Rain","stars":5}}"#),
      type: .query, scope: .public, record: "note-3", title: "Rain"),
  ]

  /// Payloads that apps have logged, where they are at hand.
  static let logged: [Payload] = {
    let expected: [Payload] = [
      Payload(name: "database-private-coredata", json: "", type: .database, scope: .private),
      Payload(name: "database-private-with-aux", json: "", type: .database, scope: .private),
      Payload(
        name: "query-private-created-silent", json: "", type: .query, scope: .private,
        record: "F339154A-0000-4000-8000-00000000000A"),
      Payload(
        name: "query-public-created-silent", json: "", type: .query, scope: .public,
        record: "E3FB89A0-0000-4000-8000-00000000000C"),
      Payload(
        name: "query-alert-badge-sound", json: "", type: .query, scope: .private,
        record: "C8FA4AC1-0000-4000-8000-00000000000E", alert: "New Note", badge: 180),
      Payload(
        name: "query-additional-fields", json: "", type: .query, scope: .public,
        record: "93B69669-0000-4000-8000-000000000010", title: "Example title (3)"),
      // Written by hand in its source, where it says 2.
      Payload(name: "zone-fet", json: "", type: .recordZone, scope: .public),
    ]
    guard let folder = Corpus.webServices?.deletingLastPathComponent().appending(path: "push") else { return [] }
    return expected.map { payload in
      var payload = payload
      payload.json = (try? String(contentsOf: folder.appending(path: "\(payload.name).json"), encoding: .utf8)) ?? ""
      return payload
    }
  }()

  @Test(arguments: own + logged) func payloadsInTheShapeOfLoggedOnesAreRead(payload: Payload) throws {
    let object = try JSONSerialization.jsonObject(with: Data(payload.json.utf8))
    let push = CKNotification(fromRemoteNotificationDictionary: try #require(object as? [String: Any]))
    #expect(push?.notificationType == payload.type && scope(push) == payload.scope)
    #expect(push?.containerIdentifier == "iCloud.com.example.notes")
    guard payload.type == .query else { return }
    let query = try #require(push as? CKQueryNotification)
    #expect(query.recordID?.recordName == payload.record && query.queryNotificationReason == .recordCreated)
    #expect(query.recordID?.zoneID == .default)
    #expect(query.recordFields?["title"] as? String == payload.title)
    if let alert = payload.alert { #expect(query.alertBody == alert) }
    if let badge = payload.badge { #expect(query.badge == badge as NSNumber) }
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
