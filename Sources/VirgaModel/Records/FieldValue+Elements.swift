extension FieldValue {
  /// The list of these elements; nil if they are of several types, or lists. Integers among doubles become doubles.
  public init?(elements: [FieldValue]) {
    func all<T>(_ read: (FieldValue) -> T?) -> [T]? {
      let read = elements.compactMap(read)
      return read.count == elements.count ? read : nil
    }
    guard let first = elements.first else {
      self = .emptyList
      return
    }
    let list: FieldValue? =
      switch first {
      case .string: all { if case .string(let element) = $0 { element } else { nil } }.map(FieldValue.stringList)
      case .int64, .double:
        all { if case .int64(let element) = $0 { element } else { nil } }.map(FieldValue.int64List)
          ?? all(\.asDouble).map(FieldValue.doubleList)
      case .timestamp:
        all { if case .timestamp(let element) = $0 { element } else { nil } }.map(FieldValue.timestampList)
      case .bytes: all { if case .bytes(let element) = $0 { element } else { nil } }.map(FieldValue.bytesList)
      case .reference:
        all { if case .reference(let element) = $0 { element } else { nil } }.map(FieldValue.referenceList)
      case .asset: all { if case .asset(let element) = $0 { element } else { nil } }.map(FieldValue.assetList)
      case .location:
        all { if case .location(let element) = $0 { element } else { nil } }.map(FieldValue.locationList)
      default: nil
      }
    guard let list else { return nil }
    self = list
  }

  private var asDouble: Double? {
    switch self {
    case .double(let number): number
    case .int64(let number): Double(number)
    default: nil
    }
  }
}
