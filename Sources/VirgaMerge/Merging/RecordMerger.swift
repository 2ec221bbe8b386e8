public import VirgaModel

/// Merges versions of records by policies, for one device.
///
/// It decides and does nothing else: the same versions give the same outcome, on every device and however often.
public struct RecordMerger: Sendable {
  let policies: MergePolicies
  let device: String

  /// - Parameter device: A name that no other device has and that stays: it stands in the marks of records.
  public init(policies: MergePolicies, device: String) {
    self.policies = policies
    self.device = device
  }

  /// The record with this device's mark, ready to be sent; unchanged if its policy has no marks.
  /// - Parameter write: The number of this write, higher than that of any earlier write of this device to the record.
  public func marked(_ record: Record, write: Int64) -> Record {
    guard let name = policies[record.type].marks else { return record }
    var record = record
    var marks = WriteMarks(record.fields[name]?.value)
    marks[device] = max(write, marks[device])
    record.fields[name] = VirgaModel.Field(marks.value)
    return record
  }

  /// The record with no date that decides about others after that time: such a date would win for ever.
  /// - Parameter fields: Those that may be changed: what the server has already stays as it is.
  public func capped(_ record: Record, at time: Timestamp, fields: Set<FieldName>) -> Record {
    var record = record
    for name in policies[record.type].dates where fields.contains(name) {
      guard case .timestamp(let date)? = record.fields[name]?.value, date > time else { continue }
      record.fields[name] = VirgaModel.Field(.timestamp(time), isEncrypted: record.fields[name]?.isEncrypted ?? false)
    }
    return record
  }

  /// The number for the next write: one more than what the record says of this device.
  public func nextWrite(of record: Record) -> Int64 {
    guard let name = policies[record.type].marks else { return 1 }
    return WriteMarks(record.fields[name]?.value)[device] + 1
  }

  /// Merges three versions into one that can be saved over the server's.
  /// - Parameter serverTime: The server's time, if known. Dates in my version that are later count as it.
  /// - Parameter answered: Fields whose value in my version is the answer to a question. If the server's changed too, somebody else
  ///   answered first: that answer stays, and mine goes to the journal.
  /// - Returns: A record with the server's tag and what it takes to know what happened.
  public func merge(
    _ versions: RecordVersions, serverTime: Timestamp? = nil, answered: Set<String> = []
  ) -> MergeOutcome {
    let policy = policies[versions.server.type]
    var versions = versions
    var isAncestorComplete = true
    if let name = policy.marks {
      let served = WriteMarks(versions.server.fields[name]?.value)[device]
      let written = WriteMarks(versions.mine.fields[name]?.value)[device]
      let known = WriteMarks(versions.ancestor?.fields[name]?.value)[device]
      if served > known {
        // One of this device's own writes arrived, and the answer got lost: what it said is in both versions.
        if let sent = versions.sent.first(where: { WriteMarks($0.fields[name]?.value)[device] == served }) {
          versions.ancestor = sent
        } else if served == written {
          versions.ancestor = versions.mine
        } else {
          isAncestorComplete = false
        }
      }
    }
    var merge = Merge(
      policy: policy, versions: versions, serverTime: serverTime, answered: Set(answered.map { FieldName($0) }),
      isAncestorComplete: isAncestorComplete)
    var outcome = merge.run()
    outcome.wasSavedAlready = !outcome.isSaveNeeded && outcome.decisions.isEmpty && isOwnWrite(versions, policy)
    return outcome
  }

  /// Whether the server's version contains the very write that was to be saved.
  private func isOwnWrite(_ versions: RecordVersions, _ policy: MergePolicy) -> Bool {
    guard let name = policy.marks else { return false }
    let written = WriteMarks(versions.mine.fields[name]?.value)[device]
    return written > 0 && WriteMarks(versions.server.fields[name]?.value)[device] >= written
  }
}
