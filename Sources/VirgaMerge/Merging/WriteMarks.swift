import VirgaModel

/// The number of each device's last write to a record, kept in a field of the record itself: `["phone:7", "watch:3"]`.
///
/// A device recognises its own write by it, where equal content would prove nothing: two devices may both have added one.
struct WriteMarks: Equatable {
  private(set) var numbers: [String: Int64] = [:]

  init() {}

  init(_ value: FieldValue?) {
    for case .string(let text) in value?.listMembers ?? [] {
      guard let colon = text.lastIndex(of: ":"), let number = Int64(text[text.index(after: colon)...]) else { continue }
      let device = String(text[..<colon])
      numbers[device] = max(number, numbers[device] ?? 0)
    }
  }

  /// 0 for a device that never wrote.
  subscript(device: String) -> Int64 {
    get { numbers[device] ?? 0 }
    set { numbers[device] = newValue }
  }

  func merged(with other: WriteMarks) -> WriteMarks {
    var merged = self
    for (device, number) in other.numbers { merged[device] = max(number, merged[device]) }
    return merged
  }

  /// Sorted, so that equal marks are equal bytes.
  var value: FieldValue {
    .stringList(numbers.map { "\($0.key):\($0.value)" }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
  }
}
