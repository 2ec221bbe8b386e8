package import VirgaModel

extension FieldValue {
  /// Whether two values are the same for a merge: texts by their bytes, files by their content, doubles bit for bit.
  ///
  /// `==` would do for neither: two Unicode spellings of one text are equal to Swift, and an asset that was read has an address that
  /// one that was saved has not.
  func isSame(as other: FieldValue) -> Bool {
    switch (self, other) {
    case (.string(let left), .string(let right)): return left.utf8.elementsEqual(right.utf8)
    case (.stringList(let left), .stringList(let right)):
      return left.elementsEqual(right) { $0.utf8.elementsEqual($1.utf8) }
    case (.double(let left), .double(let right)): return left.bitPattern == right.bitPattern
    case (.doubleList(let left), .doubleList(let right)):
      return left.elementsEqual(right) { $0.bitPattern == $1.bitPattern }
    case (.asset(let left), .asset(let right)): return Self.isSame(left, right)
    case (.assetList(let left), .assetList(let right)): return left.elementsEqual(right, by: Self.isSame)
    default:
      if let left = listMembers, let right = other.listMembers, left.isEmpty, right.isEmpty { return true }
      return self == other
    }
  }

  private static func isSame(_ left: AssetValue, _ right: AssetValue) -> Bool {
    left.fileChecksum == right.fileChecksum && left.size == right.size
  }

  /// A total order of all values, for ties that must fall alike on every device: by kind, then by value.
  func precedes(_ other: FieldValue) -> Bool {
    switch order(before: other) {
    case .ascending: true
    case .descending: false
    case .same, nil: canonicalBytes.lexicographicallyPrecedes(other.canonicalBytes)
    }
  }

  /// Bytes that are equal for the same values and different for others.
  var canonicalBytes: [UInt8] {
    var bytes = CanonicalBytes()
    bytes.append(self)
    return bytes.bytes
  }
}

/// Whether two versions say the same of a field, where `nil` is a version without it.
func areSame(_ left: FieldValue?, _ right: FieldValue?) -> Bool {
  switch (left, right) {
  case (nil, nil): true
  case (let left?, let right?): left.isSame(as: right)
  default: false
  }
}

extension Fields {
  /// The names of the fields that are not the same in both, in order.
  package func differing(from others: Fields) -> [FieldName] {
    Set(names).union(others.names).sorted().filter { name in
      !areSame(self[name]?.value, others[name]?.value) || self[name]?.isEncrypted != others[name]?.isEncrypted
    }
  }
}

/// Writes values one behind the other, each with its kind and its length, so that no two rows of values give the same bytes.
struct CanonicalBytes {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ text: String) { append(kind: 1, Array(text.utf8)) }

  mutating func append(_ value: FieldValue?) {
    guard let value else { return append(kind: 0, []) }
    if let members = value.listMembers {
      append(kind: 2, Self.bytes(UInt64(members.count)))
      for member in members { append(member) }
      return
    }
    switch value {
    case .string(let text): append(text)
    case .int64(let number): append(kind: 3, Self.bytes(UInt64(bitPattern: number)))
    case .double(let number): append(kind: 4, Self.bytes(number.bitPattern))
    case .timestamp(let time): append(kind: 5, Self.bytes(UInt64(bitPattern: time.milliseconds)))
    case .bytes(let data): append(kind: 6, data)
    case .reference(let reference):
      append(kind: 7, Array("\(reference.recordName)\n\(reference.zone.map { "\($0)" } ?? "")".utf8))
    case .asset(let asset): append(kind: 8, Array("\(asset.fileChecksum)\n\(asset.size)".utf8))
    case .location(let place):
      append(kind: 9, Self.bytes(place.latitude.bitPattern) + Self.bytes(place.longitude.bitPattern))
      for part in [place.altitude, place.horizontalAccuracy, place.verticalAccuracy, place.speed, place.course] {
        append(part.map(FieldValue.double))
      }
      append(place.timestamp.map(FieldValue.timestamp))
    case .unknown(let tag, let json): append(kind: 10, Array(tag.utf8) + [0] + json)
    default: break
    }
  }

  private mutating func append(kind: UInt8, _ content: [UInt8]) {
    bytes.append(kind)
    bytes += Self.bytes(UInt64(content.count))
    bytes += content
  }

  private static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// A short name for the content, the same in every process: FNV-1a with 64 bits, twice with different beginnings.
  var digest: String {
    let halves = [0xcbf2_9ce4_8422_2325, 0x6c62_272e_07bb_0142].map { (seed: UInt64) in
      bytes.reduce(seed) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
    return halves.map { half in
      let digits = String(half, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
