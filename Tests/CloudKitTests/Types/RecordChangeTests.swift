import CloudKit
import Foundation
import Testing
import VirgaModel

@testable import VirgaCloudKit

struct RecordChangeTests {
  @Test func settingCountsAsAChangeAlsoToTheSameValueOrNil() {
    let record = fetched(["a": .string("1"), "b": .string("2"), "c": .string("3")])
    #expect(record.changedKeys() == [])
    record["a"] = "1"
    record["c"] = nil
    #expect(record.changedKeys() == ["a", "c"])
    #expect(record.allKeys() == ["a", "b"])
  }

  @Test func encryptedFieldsAreAViewOfTheirOwn() {
    let record = CKRecord(recordType: "T")
    record.encryptedValues["secret"] = "s"
    record["plain"] = "p"
    #expect(record["secret"] == nil)
    #expect(record.encryptedValues["secret"] as? String == "s")
    #expect(record.encryptedValues["plain"] == nil)
    #expect(record.allKeys() == ["plain"])
    #expect(record.changedKeys() == ["plain"])
    #expect(record.encryptedValues.allKeys() == ["secret"])
    #expect(record.encryptedValues.changedKeys() == ["secret"])
  }

  @Test func editsMadeDuringASaveStayChanged() {
    let record = fetched(["a": .string("old"), "b": .string("old")])
    record["a"] = "sent"
    record["b"] = "sent"
    let edit = record.state.withLock { $0.edits }
    record["b"] = "later"
    var saved = record.state.withLock { $0.record }
    saved.tag = "2"
    saved.fields["a"] = Field(.string("sent"))
    saved.fields["b"] = Field(.string("sent"))
    record.state.withLock { [saved] in $0.settle(saved, upTo: edit) }
    #expect(record.recordChangeTag == "2")
    #expect(record["a"] as? String == "sent")
    #expect(record["b"] as? String == "later")
    #expect(record.changedKeys() == ["b"])
  }

  @Test func copiesAreIndependent() throws {
    let record = fetched(["a": .string("1")])
    let copy = try #require(record.copy() as? CKRecord)
    copy["a"] = "2"
    #expect(record["a"] as? String == "1")
    #expect(record.changedKeys() == [])
  }

  // C53
  @Test func valuesOfUnknownTypesAreCarriedAndNotShown() throws {
    let record = fetched(["known": .string("k"), "new": .unknown(tag: "VECTOR", json: Array("[1]".utf8))])
    #expect(record.allKeys() == ["known"])
    #expect(record["new"] == nil)
    let copy = try archivedCopy(of: record)
    #expect(copy.state.withLock { $0.record.fields["new"]?.value } == .unknown(tag: "VECTOR", json: Array("[1]".utf8)))
  }

  @Test func parentIsAReferenceWithoutAction() {
    let record = CKRecord(recordType: "T")
    let parent = CKRecord(recordType: "P", recordID: CKRecord.ID(recordName: "p"))
    record.setParent(parent)
    #expect(record.parent?.recordID == parent.recordID)
    #expect(record.parent?.action == CKRecord.ReferenceAction.none)
    record.setParent(nil as CKRecord?)
    #expect(record.parent == nil)
  }
}

/// A record as a fetch would make it.
func fetched(_ fields: Fields, name: RecordName = "r") -> CKRecord {
  var record = Record(id: RecordID(name, in: ZoneID("Notes", owner: .defaultOwner)), type: "Note", fields: fields)
  record.tag = "1"
  let stamp = RecordStamp(time: Timestamp(milliseconds: 1_760_000_000_000), user: "_abc", device: "iCloud")
  record.created = stamp
  record.modified = stamp
  return CKRecord(CKRecord.State(record))
}
