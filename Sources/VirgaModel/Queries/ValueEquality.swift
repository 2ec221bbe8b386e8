/// When two values are the same: texts by their bytes, numbers by their value, references by what they point to.
struct ValueEquality {
  /// Where a reference points that names no zone; `nil` where references name their record alone.
  let zone: ZoneID?

  func areEqual(_ left: FieldValue, _ right: FieldValue) -> Bool {
    switch (left, right) {
    case (.reference(let left), .reference(let right)):
      left.recordName == right.recordName && (zone == nil || (left.zone ?? zone) == (right.zone ?? zone))
    case (.location(let left), .location(let right)):
      left.latitude == right.latitude && left.longitude == right.longitude
    default: left.order(before: right) == .same
    }
  }

  fileprivate func resolved(_ key: EqualityKey) -> EqualityKey {
    guard case .reference(let name, let target) = key else { return key }
    return .reference(name, zone.map { target ?? $0 })
  }
}

/// Values among which equal ones are found at once.
struct ValueSet {
  private var keys: Set<EqualityKey> = []
  /// The records that its references name.
  private var names: Set<RecordName> = []
  /// Whether there is a value that equals none.
  private var hasIncomparable = false

  init(_ values: [FieldValue]) {
    for value in values {
      guard let key = EqualityKey(value) else {
        hasIncomparable = true
        continue
      }
      keys.insert(key)
      if case .reference(let name, _) = key { names.insert(name) }
    }
  }

  func contains(_ value: FieldValue, _ equality: ValueEquality) -> Bool {
    guard let key = EqualityKey(value).map(equality.resolved) else { return false }
    guard case .reference(let name, let target) = key else { return keys.contains(key) }
    guard let zone = equality.zone else { return names.contains(name) }
    return keys.contains(key) || target == zone && keys.contains(.reference(name, nil))
  }

  /// Whether each value is among these.
  func isContained(in values: [FieldValue], _ equality: ValueEquality) -> Bool {
    if hasIncomparable { return false }
    let others = Set(values.lazy.compactMap { EqualityKey($0).map(equality.resolved) })
    return keys.allSatisfy { others.contains(equality.resolved($0)) }
  }
}

/// What is the same for equal values, and for no others.
private enum EqualityKey: Hashable {
  case integer(Int64)
  /// One that no integer equals.
  case number(Double)
  case time(Timestamp)
  /// Two Unicode spellings of one text are two texts.
  case text([UInt8])
  case bytes([UInt8])
  case place(latitude: Double, longitude: Double)
  case reference(RecordName, ZoneID?)

  /// `nil` for a value that equals none, not even itself.
  init?(_ value: FieldValue) {
    switch value {
    case .int64(let number): self = .integer(number)
    // Where no schema tells the field's type, a number may have been written without a fraction.
    case .double(let number):
      if number.isNaN { return nil }
      self = Int64(exactly: number).map { .integer($0) } ?? .number(number)
    case .timestamp(let time): self = .time(time)
    case .string(let text): self = .text(Array(text.utf8))
    case .bytes(let bytes): self = .bytes(bytes)
    case .location(let place): self = .place(latitude: place.latitude, longitude: place.longitude)
    case .reference(let reference): self = .reference(reference.recordName, reference.zone)
    default: return nil
    }
  }
}
