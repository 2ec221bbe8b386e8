extension FieldValue {
  /// How this value lies to another; `nil` if they have no order. Texts are in the order of their bytes.
  public func order(before other: FieldValue) -> ValueOrder? {
    func order<Value: Comparable>(_ left: Value, _ right: Value) -> ValueOrder {
      left < right ? .ascending : left == right ? .same : .descending
    }
    return switch (self, other) {
    case (.int64(let left), .int64(let right)): order(left, right)
    case (.double(let left), .double(let right)): order(left, right)
    case (.timestamp(let left), .timestamp(let right)): order(left, right)
    case (.string(let left), .string(let right)): Self.order(left.utf8, right.utf8)
    case (.bytes(let left), .bytes(let right)): Self.order(left, right)
    // Where no schema tells the field's type, a number may have been written without a fraction.
    case (.int64(let left), .double(let right)): Self.order(left, right)
    case (.double(let left), .int64(let right)):
      switch Self.order(right, left) {
      case .ascending: .descending
      case .descending: .ascending
      case .same: .same
      }
    default: nil
    }
  }

  private static func order(_ left: Int64, _ right: Double) -> ValueOrder {
    let rounded = Double(left)
    if rounded != right { return rounded < right ? .ascending : .descending }
    // Rounding may have hidden a difference of the last digits.
    guard let exact = Int64(exactly: right) else { return .ascending }
    return left < exact ? .ascending : left == exact ? .same : .descending
  }

  /// Two Unicode spellings of one text are two texts, so `==` would not do.
  private static func order(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> ValueOrder {
    if left.elementsEqual(right) { return .same }
    return left.lexicographicallyPrecedes(right) ? .ascending : .descending
  }

  func begins(with prefix: FieldValue) -> Bool {
    guard case .string(let text) = self, case .string(let start) = prefix else { return false }
    return text.utf8.starts(with: start.utf8)
  }

  /// The members of a list; `nil` for any other value.
  public var listMembers: [FieldValue]? {
    switch self {
    case .stringList(let list): list.map { .string($0) }
    case .int64List(let list): list.map { .int64($0) }
    case .doubleList(let list): list.map { .double($0) }
    case .timestampList(let list): list.map { .timestamp($0) }
    case .bytesList(let list): list.map { .bytes($0) }
    case .referenceList(let list): list.map { .reference($0) }
    case .assetList(let list): list.map { .asset($0) }
    case .locationList(let list): list.map { .location($0) }
    case .emptyList: []
    default: nil
    }
  }

  /// The members of a list, or the value itself.
  public var members: [FieldValue] { listMembers ?? [self] }
}
