extension Query {
  /// Whether one record comes before another in the query's order: by its sorts, then by zone, then by name.
  public func areInOrder(_ left: QuerySubject, _ right: QuerySubject) -> Bool {
    for sort in sorts {
      switch sort.order(left, right) {
      case .same: continue
      case .ascending: return sort.isAscending
      case .descending: return !sort.isAscending
      }
    }
    return left.id < right.id
  }
}

extension QuerySort {
  fileprivate func order(_ left: QuerySubject, _ right: QuerySubject) -> ValueOrder {
    switch (key(of: left), key(of: right)) {
    case (nil, nil): .same
    case (nil, _): .ascending
    case (_, nil): .descending
    case (let left?, let right?): left.order(before: right) ?? .same
    }
  }

  /// What is compared: the value, or its distance. A value that has no order counts as missing.
  public func key(of subject: QuerySubject) -> FieldValue? {
    guard let value = subject.value(of: field) else { return nil }
    switch value {
    case .location(let place): return origin.map { .double(place.distance(to: $0)) }
    case .reference(let reference): return .string(reference.recordName.rawValue)
    case .int64, .double, .timestamp, .string, .bytes: return value
    default: return nil
    }
  }
}
