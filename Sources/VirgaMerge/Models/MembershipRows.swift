public import VirgaModel

/// A set that needs no merge: one record for each addition, with a mark when it was removed.
///
/// An addition that a removal did not know of stays: who adds an element again while somebody else removes it keeps it.
public struct MembershipRows: Sendable {
  /// The type of the records that the rows are.
  public let type: RecordType
  /// The field that says which set the row belongs to.
  public static let set: FieldName = "set"
  /// The field with the element.
  public static let element: FieldName = "element"
  /// 1 on a row that was removed. It never goes back, so two writers of one row agree.
  public static let removed: FieldName = "removed"

  /// Makes a model over records of that type.
  public init(type: String) { self.type = RecordType(type) }

  /// A new row. Its name is new too, whatever was added or removed before.
  /// - Parameter unique: A text that no other addition has, such as a UUID.
  public func adding(_ element: FieldValue, to set: String, unique: String, in zone: ZoneID) -> Record {
    var row = Record(id: RecordID(RecordName("member-" + unique), in: zone), type: type)
    row.fields[Self.set] = VirgaModel.Field(.string(set))
    row.fields[Self.element] = VirgaModel.Field(element)
    return row
  }

  /// The rows of the element, each marked as removed: all that this device knows of.
  public func removing(_ element: FieldValue, from set: String, rows: some Sequence<Record>) -> [Record] {
    live(set, rows).filter { $0.fields[Self.element]?.value.isSame(as: element) == true }.map { row in
      var row = row
      row.fields[Self.removed] = VirgaModel.Field(.int64(1))
      return row
    }
  }

  /// The elements, each once, in the order of their values.
  public func elements(of set: String, in rows: some Sequence<Record>) -> [FieldValue] {
    var seen: Set<[UInt8]> = []
    return live(set, rows).compactMap { $0.fields[Self.element]?.value }.filter {
      seen.insert($0.canonicalBytes).inserted
    }
    .sorted { $0.precedes($1) }
  }

  /// Rows that were removed and can be deleted. That is safe whatever a device does offline: a removed row never counts again, and
  /// no addition uses its name.
  public func compaction(of set: String, rows: some Sequence<Record>) -> [RecordID] {
    of(set, rows).filter { $0.fields[Self.removed]?.value == .int64(1) }.map(\.id).sorted()
  }

  private func of(_ set: String, _ rows: some Sequence<Record>) -> [Record] {
    rows.filter { $0.type == type && $0.fields[Self.set]?.value == .string(set) }
  }

  private func live(_ set: String, _ rows: some Sequence<Record>) -> [Record] {
    of(set, rows).filter { $0.fields[Self.removed]?.value != .int64(1) }
  }
}
