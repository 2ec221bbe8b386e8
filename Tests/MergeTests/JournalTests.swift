import Foundation
import Testing
import VirgaMerge
import VirgaModel

@Suite struct ConflictJournalTests {
  private func outcome() throws -> MergeOutcome {
    merge(try policy {}, ["a": 1, "b": 1], server: ["a": 2, "b": 2], mine: ["a": 3, "b": 1, "c": "x"])
  }

  @Test func whatWasDiscardedComesBack() throws {
    var journal = ConflictJournal()
    let outcome = try self.outcome()
    let noted = journal.note(outcome, at: Timestamp(milliseconds: 5))
    let entry = try #require(noted)
    #expect(entry.decisions[0].discarded[0].value?.fieldValue == 3)
    let result = journal.undo(entry.id, in: outcome.record)
    let undone = try #require(result)
    #expect(undone.record.fields["a"]?.value == 3 && undone.record.fields["b"]?.value == 2 && undone.leftAlone.isEmpty)
    let again = journal.undo(entry.id, in: outcome.record)
    #expect(again == nil)
    #expect(journal.entries[0].isUndone)
  }

  @Test func whatChangedSinceIsLeftAlone() throws {
    var journal = ConflictJournal()
    let outcome = try self.outcome()
    let noted = journal.note(outcome, at: Timestamp(milliseconds: 5))
    let entry = try #require(noted)
    var later = outcome.record
    later.fields["a"] = VirgaModel.Field(9)
    let result = journal.undo(entry.id, in: later)
    let undone = try #require(result)
    #expect(undone.record.fields["a"]?.value == 9 && undone.leftAlone == ["a"])
    var other = later
    other.id.name = "another"
    let elsewhere = journal.undo(entry.id, in: other)
    #expect(elsewhere == nil)
  }

  @Test func itIsBoundedAndCanBeStored() throws {
    var journal = ConflictJournal(limit: 3)
    for time in 0..<5 { journal.note(try outcome(), at: Timestamp(milliseconds: Int64(time))) }
    #expect(journal.entries.map(\.id) == [3, 4, 5])
    let joined = merge(try policy {}, ["a": 1], server: ["a": 1, "b": 2], mine: ["a": 2])
    let nothing = journal.note(joined, at: Timestamp(milliseconds: 9))
    #expect(nothing == nil)
    let stored = try JSONDecoder().decode(ConflictJournal.self, from: JSONEncoder().encode(journal))
    #expect(stored == journal)
  }

  @Test func everyKindOfValueCanBeStored() throws {
    var place = Location(latitude: 1, longitude: 2)
    place.timestamp = Timestamp(milliseconds: 3)
    let values: [FieldValue] = [
      "x", 1, .double(.infinity), .double(-0.0), moment(5), .bytes([0, 255]), .location(place), .emptyList,
      .reference(Reference(recordName: "r", action: .deleteSelf, zone: zone)), .unknown(tag: "T", json: [1, 2]),
      .asset(AssetValue(fileChecksum: "c", size: 4)), .stringList(["a"]), .doubleList([1.5]), .int64List([1, 2]),
    ]
    for value in values {
      let stored = try JSONDecoder().decode(StoredValue.self, from: JSONEncoder().encode(StoredValue(value)))
      #expect(stored.fieldValue == value)
    }
  }
}
