import CloudKit
import Foundation
import Testing

@testable import VirgaCloudKit

/// Sections 3 to 5 of the behaviours, where records meet other records and what reads them.
@Suite struct ReferenceTests {
  let server: TestServer
  let device: TestDevice
  var database: CKDatabase { device.database }
  let zone = CKRecordZone(zoneName: "Diary")

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(zone)
  }

  private func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
      try await body()
      return nil
    } catch { return (error as? CKError)?.code }
  }

  private func names() async throws -> [String] {
    let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil)
    return page.modificationResultsByID.keys.map(\.recordName).sorted()
  }

  // 3.1, 13.15
  @Test func aRecordWithoutANameGetsOneInTheDefaultZone() {
    let record = CKRecord(recordType: "Note")
    #expect(record.recordID.zoneID == .default && record.recordChangeTag == nil)
    #expect(UUID(uuidString: record.recordID.recordName)?.uuidString == record.recordID.recordName)
  }

  // 4.1
  @Test func deletingATargetTakesThoseThatSayDeleteSelfAndNoOthers() async throws {
    let (root, child, grandchild, other) = (
      record("root", in: zone), record("child", in: zone), record("grandchild", in: zone), record("other", in: zone)
    )
    child["up"] = CKRecord.Reference(record: root, action: .deleteSelf)
    grandchild["up"] = CKRecord.Reference(record: child, action: .deleteSelf)
    other["up"] = CKRecord.Reference(record: root, action: .none)
    _ = try await database.modifyRecords(saving: [root, child, grandchild, other], deleting: [])
    try await database.deleteRecord(withID: root.recordID)
    #expect(try await names() == ["other"])
    let dangling = try await database.record(for: other.recordID)["up"] as? CKRecord.Reference
    #expect(dangling?.recordID == root.recordID)
  }

  /// What goes with a target is not saved by the same call either.
  @Test func aRecordThatGoesWithItsTargetIsUnknownToWhoeverSavesIt() async throws {
    let (root, child) = (record("root", in: zone), record("child", in: zone))
    child["up"] = CKRecord.Reference(record: root, action: .deleteSelf)
    _ = try await database.modifyRecords(saving: [root, child], deleting: [])
    child["title"] = "changed"
    let results = try await database.modifyRecords(saving: [child], deleting: [root.recordID])
    #expect(results.saveResults[child.recordID]?.word == "unknownItem")
    #expect(throws: Never.self) { try results.deleteResults[root.recordID]?.get() }
    #expect(try await names() == [])
  }

  // 4.2
  @Test func onlyAReferenceThatDeletesItselfNeedsItsTarget() async throws {
    let holder = record("holder", in: zone)
    let target = record("target", in: zone)
    holder["up"] = CKRecord.Reference(record: target, action: .deleteSelf)
    #expect(await code { _ = try await database.save(holder) } == .referenceViolation)
    let together = try await database.modifyRecords(saving: [holder, target], deleting: [])
    #expect(together.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    let free = record("free", in: zone)
    free["up"] = CKRecord.Reference(
      recordID: CKRecord.ID(recordName: "nobody", zoneID: zone.zoneID), action: .none)
    _ = try await database.save(free)
  }

  // 4.3: as chosen. References do not cross zones.
  @Test(arguments: [CKRecord.ReferenceAction.none, .deleteSelf]) func aReferenceStaysInItsZone(
    action: CKRecord.ReferenceAction
  ) async throws {
    let other = CKRecordZone(zoneName: "Other")
    _ = try await database.save(other)
    let target = record("target", in: other)
    _ = try await database.save(target)
    let holder = record("holder", in: zone)
    holder["up"] = CKRecord.Reference(record: target, action: action)
    #expect(await code { _ = try await database.save(holder) } == .invalidArguments)
  }

  // 4.4
  @Test func aParentMustExistOrComeAlong() async throws {
    let (parent, child) = (record("parent", in: zone), record("child", in: zone))
    child.setParent(parent)
    #expect(child.parent?.action == CKRecord.ReferenceAction.none)
    #expect(await code { _ = try await database.save(child) } == .referenceViolation)
    let results = try await database.modifyRecords(saving: [child, parent], deleting: [])
    #expect(results.saveResults.values.allSatisfy { (try? $0.get()) != nil })
    #expect(try await database.record(for: child.recordID).parent?.recordID == parent.recordID)
  }

  // 1.5
  @Test func callsAreAtomicUnlessTheySayOtherwise() async throws {
    let stale = record("a", in: zone)
    _ = try await database.save(record("a", in: zone))
    let results = try await database.modifyRecords(saving: [stale, record("b", in: zone)], deleting: [])
    #expect(results.saveResults[stale.recordID]?.word == "serverRecordChanged")
    #expect(try await names() == ["a"])
    let loose = try await database.modifyRecords(
      saving: [stale, record("b", in: zone)], deleting: [], atomically: false)
    #expect(loose.saveResults[stale.recordID]?.word == "serverRecordChanged")
    #expect(try await names() == ["a", "b"])
  }

  // 1.4: the default zone is never atomic, whatever the caller says.
  @Test func inTheDefaultZoneEachRecordIsSavedForItself() async throws {
    let home = CKRecordZone.default()
    _ = try await database.save(record("a", in: home))
    let results = try await database.modifyRecords(
      saving: [record("a", in: home), record("b", in: home)], deleting: [])
    #expect(results.saveResults[record("a", in: home).recordID]?.word == "serverRecordChanged")
    #expect(results.saveResults[record("b", in: home).recordID]?.word == "ok")
  }

  // 5.5: as chosen. A fetch after a save brings what was saved.
  @Test func ownChangesComeBack() async throws {
    let token = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: nil).changeToken
    _ = try await database.save(record("mine", in: zone))
    let page = try await database.recordZoneChanges(inZoneWith: zone.zoneID, since: token)
    #expect(page.modificationResultsByID.keys.map(\.recordName) == ["mine"])
  }

  // 5.7
  @Test func theDefaultZoneHasNoFeed() async throws {
    _ = try await database.save(record("a", in: .default()))
    #expect(await code { _ = try await database.recordZoneChanges(inZoneWith: .default, since: nil) } != nil)
    #expect(try await database.recordZone(for: .default).capabilities.contains(.fetchChanges) == false)
  }

  // 5.9: as chosen. A query sees what was just saved.
  @Test func aQuerySeesWhatWasJustSaved() async throws {
    let fresh = record("fresh", in: zone, title: "Fresh")
    _ = try await database.save(fresh)
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(format: "title == %@", "Fresh"))
    #expect(try await database.records(matching: query).matchResults.map(\.0) == [fresh.recordID])
  }
}
