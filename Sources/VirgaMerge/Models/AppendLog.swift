public import VirgaModel

/// A log that only grows, and its total: each entry is a record of its own, numbered by the device that wrote it.
public struct AppendLog: Sendable {
  /// The type of the records that the entries are.
  public let type: RecordType
  /// The field that says which log the entry belongs to.
  public static let log: FieldName = "log"
  /// The field that says which device wrote the entry.
  public static let device: FieldName = "device"
  /// The entry's number among those of its device, from 1; in a summary the last one that it holds.
  public static let number: FieldName = "number"
  /// The field with what the entry adds to the total.
  public static let amount: FieldName = "amount"
  /// 1 in a summary of a device's earlier entries.
  public static let summary: FieldName = "summary"

  /// Makes a model over records of that type.
  public init(type: String) { self.type = RecordType(type) }

  /// - Parameter number: One more than this device's last entry. An entry that is written again under its number is the same record,
  ///   so a save whose answer was lost counts once.
  public func entry(_ amount: Int64, number: Int64, log: String, device: String, in zone: ZoneID) -> Record {
    record("entry-\(number)", amount, number, log, device, zone)
  }

  /// The sum of all entries. What a summary holds is not counted again, whether its entries are still there or not.
  public func total(of log: String, in records: some Sequence<Record>) -> Int64 {
    let all = of(log, records)
    let summaries = all.filter(\.isSummary)
    var through: [String: Int64] = [:]
    for summary in summaries { through[summary.device] = max(summary.number, through[summary.device] ?? 0) }
    let rest = all.filter { !$0.isSummary && $0.number > (through[$0.device] ?? 0) }
    return (summaries.map(\.amount) + rest.map(\.amount)).reduce(0, &+)
  }

  /// Replaces a device's own entries by one summary. Save it first, then delete: a crash in between changes no total.
  ///
  /// A device does that for itself alone. Nobody else knows whether it holds entries that it has not sent. An entry that was
  /// not sent yet ends what is summed up: those behind it wait until it is there.
  /// - Parameter records: All records of the log that this device knows, sent ones only.
  /// - Returns: `nil` if there are fewer than two entries to sum up.
  public func compaction(
    of log: String, device: String, in zone: ZoneID, records: some Sequence<Record>
  ) -> (save: Record, delete: [RecordID])? {
    let own = of(log, records).filter { $0.device == device }
    let before = own.first(where: \.isSummary)
    let entries = Dictionary(own.filter { !$0.isSummary }.map { ($0.number, $0) }) { first, _ in first }
    let start = before?.number ?? 0
    var (last, sum) = (start, before?.amount ?? 0)
    while let entry = entries[last + 1] {
      last += 1
      sum = sum &+ entry.amount
    }
    guard last > start + 1 else { return nil }
    var summary = before ?? record("summary", 0, 0, log, device, zone)
    summary.fields[Self.amount] = VirgaModel.Field(.int64(sum))
    summary.fields[Self.number] = VirgaModel.Field(.int64(last))
    summary.fields[Self.summary] = VirgaModel.Field(.int64(1))
    return (summary, own.filter { !$0.isSummary && $0.number <= last }.map(\.id).sorted())
  }

  private func record(
    _ kind: String, _ amount: Int64, _ number: Int64, _ log: String, _ device: String, _ zone: ZoneID
  ) -> Record {
    var bytes = CanonicalBytes()
    for part in [kind, log, device] { bytes.append(part) }
    var record = Record(id: RecordID(RecordName("log-" + bytes.digest), in: zone), type: type)
    record.fields[Self.log] = VirgaModel.Field(.string(log))
    record.fields[Self.device] = VirgaModel.Field(.string(device))
    record.fields[Self.number] = VirgaModel.Field(.int64(number))
    record.fields[Self.amount] = VirgaModel.Field(.int64(amount))
    return record
  }

  private func of(_ log: String, _ records: some Sequence<Record>) -> [Record] {
    records.filter { $0.type == type && $0.fields[Self.log]?.value == .string(log) }
  }
}

extension Record {
  fileprivate var isSummary: Bool { fields[AppendLog.summary]?.value == .int64(1) }
  fileprivate var number: Int64 { integer(AppendLog.number) }
  fileprivate var amount: Int64 { integer(AppendLog.amount) }
  fileprivate var device: String {
    if case .string(let text)? = fields[AppendLog.device]?.value { text } else { "" }
  }

  private func integer(_ name: FieldName) -> Int64 {
    if case .int64(let number)? = fields[name]?.value { number } else { 0 }
  }
}
