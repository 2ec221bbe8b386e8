public import VirgaModel

/// A counter that needs no merge: one record for each device, which nobody else writes. Its value is the sum of all.
///
/// Two devices that add at the same time write two records, so neither can be lost, and a save that is sent twice says the same twice.
public struct CounterRows: Sendable {
  /// The type of the records that the rows are.
  public let type: RecordType
  /// The field that says which counter the row belongs to.
  public static let counter: FieldName = "counter"
  /// The field that says whose row it is.
  public static let device: FieldName = "device"
  /// The field with how much the device has added.
  public static let total: FieldName = "total"
  /// The field that is 1 once the device will write no more.
  public static let closed: FieldName = "closed"
  /// The field that is 1 once another row has the total.
  public static let folded: FieldName = "folded"

  /// Makes a model over records of that type.
  public init(type: String) { self.type = RecordType(type) }

  /// The device's row with that much added. Without a row yet it is a new record.
  /// - Precondition: The row is of this counter and device.
  public func adding(
    _ amount: Int64, to row: Record?, of counter: String, device: String, in zone: ZoneID
  ) -> Record {
    var row = row ?? Record(id: RecordID(Self.name(counter, device), in: zone), type: type)
    precondition(row.id.name == Self.name(counter, device), "a device writes its own row")
    row.fields[Self.counter] = VirgaModel.Field(.string(counter))
    row.fields[Self.device] = VirgaModel.Field(.string(device))
    row.fields[Self.total] = VirgaModel.Field(.int64(Self.number(row) &+ amount))
    return row
  }

  /// The counter's value.
  public func total(of counter: String, in rows: some Sequence<Record>) -> Int64 {
    rows.lazy.filter { $0.type == type && $0.fields[Self.counter]?.value == .string(counter) }
      .reduce(0) { $0 &+ Self.number($1) }
  }

  /// Folds rows whose devices closed them into one. Rows that are open stay, since their device may be offline and about to add.
  ///
  /// Save the rows as one atomic batch that checks change tags. Of two devices that fold a row at once, only one succeeds, since
  /// both save that row. A row that was folded has a total of 0 and a mark, and never gets a total again, so it can be deleted
  /// at any time, with or without its tag.
  /// - Parameter rows: All rows of the counter, with their tags.
  /// - Returns: The rows to save, and those to delete that were folded before; `nil` if there is nothing to do.
  public func compaction(
    of counter: String, rows: some Sequence<Record>
  ) -> (save: [Record], delete: [RecordID])? {
    let closed = rows.filter {
      $0.type == type && $0.fields[Self.counter]?.value == .string(counter)
        && $0.fields[Self.closed]?.value == .int64(1)
    }.sorted { $0.id < $1.id }
    let folded = closed.filter { $0.fields[Self.folded]?.value == .int64(1) }.map(\.id)
    var saved = closed.filter { $0.fields[Self.folded]?.value != .int64(1) }
    if saved.count < 2 { return folded.isEmpty ? nil : ([], folded) }
    let sum = saved.reduce(0) { $0 &+ Self.number($1) }
    for index in saved.indices {
      saved[index].fields[Self.total] = VirgaModel.Field(.int64(index == 0 ? sum : 0))
      if index > 0 { saved[index].fields[Self.folded] = VirgaModel.Field(.int64(1)) }
    }
    return (saved, folded)
  }

  private static func number(_ row: Record) -> Int64 {
    if case .int64(let number)? = row.fields[total]?.value { number } else { 0 }
  }

  private static func name(_ counter: String, _ device: String) -> RecordName {
    var bytes = CanonicalBytes()
    bytes.append(counter)
    bytes.append(device)
    return RecordName("counter-" + bytes.digest)
  }
}
