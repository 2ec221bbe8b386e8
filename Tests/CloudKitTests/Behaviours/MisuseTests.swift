import CloudKit
import Foundation
import Testing

/// What Apple's framework raises an exception for stops the program here: it is a mistake in the program.
@Suite struct MisuseTests {
  @Test func aParentThatWouldDeleteItsChildStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let child = CKRecord(recordType: "Note")
      child.parent = CKRecord.Reference(recordID: CKRecord.ID(recordName: "p"), action: .deleteSelf)
    }
  }

  @Test func aListOfListsStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      CKRecord(recordType: "Note").setObject(NSArray(array: [NSArray(array: [1])]), forKey: "list")
    }
  }

  @Test func aListOfTwoTypesStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      CKRecord(recordType: "Note").setObject(NSArray(array: [1, "one"]), forKey: "list")
    }
  }

  @Test func aNumberThatIsTooLargeStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      CKRecord(recordType: "Note").setObject(NSNumber(value: UInt64.max), forKey: "number")
    }
  }

  @Test func aShareOutsideItsRootsZoneStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let root = CKRecord(
        recordType: "Note",
        recordID: CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "A")))
      _ = CKShare(
        rootRecord: root, shareID: CKRecord.ID(recordName: "s", zoneID: CKRecordZone.ID(zoneName: "B")))
    }
  }

  // 8.5
  @Test func removingSomebodyWhoIsNotInTheShareStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let zoneID = CKRecordZone.ID(zoneName: "A")
      let (one, other) = (CKShare(recordZoneID: zoneID), CKShare(recordZoneID: zoneID))
      one.removeParticipant(other.owner)
    }
  }

  // 8.4
  @Test func invitingByNameToAPublicShareStopsTheProgram() async {
    await #expect(processExitsWith: .failure) {
      let share = CKShare(recordZoneID: CKRecordZone.ID(zoneName: "A"))
      share.publicPermission = .readOnly
      share.addParticipant(CKShare(recordZoneID: CKRecordZone.ID(zoneName: "B")).owner)
    }
  }

  @Test func aPredicateThatCannotBeReadStopsTheProgram() async {
    await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "title ==") }
  }
}
