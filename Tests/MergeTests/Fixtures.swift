import VirgaMerge
import VirgaModel

let zone = ZoneID("Notes", owner: .defaultOwner)

func record(_ fields: Fields, tag: String? = nil, time: Int64? = nil, name: RecordName = "n") -> Record {
  var record = Record(id: RecordID(name, in: zone), type: "Note", fields: fields)
  record.tag = tag.map { ChangeTag($0) }
  record.modified = time.map { RecordStamp(time: Timestamp(milliseconds: $0), user: .defaultOwner, device: "d") }
  return record
}

func policy(
  default rule: MergeRule = .preferServer, marks: String? = nil, @MergePolicyBuilder _ parts: () -> [MergePolicy.Part]
) throws -> RecordMerger {
  RecordMerger(policies: MergePolicies(default: try MergePolicy(default: rule, marks: marks, parts)), device: "phone")
}

func merge(
  _ merger: RecordMerger, _ ancestor: Fields, server: Fields, mine: Fields, serverTime: Int64? = nil
) -> MergeOutcome {
  merger.merge(
    RecordVersions(
      ancestor: record(ancestor, tag: "1"), server: record(server, tag: "2", time: 1_000_000),
      mine: record(mine, tag: "1")),
    serverTime: serverTime.map { Timestamp(milliseconds: $0) })
}

func moment(_ milliseconds: Int64) -> FieldValue { .timestamp(Timestamp(milliseconds: milliseconds)) }

/// A server of one record, as a merge sees it: tags, a history, and conflicts that bring three versions.
struct OneRecordServer {
  var record: Record
  private var history: [ChangeTag: Record] = [:]
  private var sequence: Int64 = 1

  init(_ fields: Fields) {
    record = MergeTests.record(fields, tag: "1", time: 1_000_000)
    history["1"] = record
  }

  enum Answer { case saved(Record), conflict(server: Record, ancestor: Record?) }

  mutating func save(_ new: Record, at time: Int64 = 1_000_000) -> Answer {
    guard new.tag == record.tag else { return .conflict(server: record, ancestor: new.tag.flatMap { history[$0] }) }
    sequence += 1
    record = new
    record.tag = ChangeTag(sequence: sequence)
    record.modified = RecordStamp(time: Timestamp(milliseconds: time), user: .defaultOwner, device: "d")
    history[record.tag!] = record
    return .saved(record)
  }
}
