import VirgaModel

/// Where in an index.
enum QueryBounds {
  case intervals([KeyInterval])
  case ranges([IndexRange])

  /// In the order of the index, without overlaps.
  func ranges(descending: Bool) -> [IndexRange] {
    let ranges =
      switch self {
      case .intervals(let intervals): intervals.map { $0.range(descending: descending) }
      case .ranges(let ranges): ranges
      }
    return ranges.sorted { $0.lower.lexicographicallyPrecedes($1.lower) }
  }
}
