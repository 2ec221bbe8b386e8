public import VirgaModel
package import VirgaWire

extension Service {
  /// A step towards an index that a query needs: makes it, or enters some of the zone's records. Each step is small, so
  /// that saves which wait for it do not wait long.
  /// - Parameter maker: Whose query asks.
  /// - Parameter spared: Indexes of the zone that other queries wait for: none of them goes for this one.
  /// - Throws: `TRY_AGAIN_LATER` if there is no room but theirs.
  public func advance(
    _ need: WriteNeeded, for maker: UserName?, sparing spared: Set<IndexDefinition> = [],
    portion: IndexPortion = .usual, in transaction: any WriteTransaction
  ) throws -> IndexStep {
    // Without its zone the query says what there is to say.
    guard let zone = try transaction.zone(need.zone.name, in: need.zone.database), !zone.isDeleted else {
      return IndexStep(isReady: true)
    }
    let known = try transaction.indexes(of: zone)
    if let index = known.first(where: { $0.definition == need.definition }) {
      if index.isReady { return IndexStep(isReady: true) }
      let (filled, records) = try transaction.fillIndex(index, of: zone, portion: portion)
      return IndexStep(isReady: filled.isReady, records: records)
    }
    let maker = maker?.rawValue ?? ""
    let candidates = known.filter { $0.id != need.besides && !spared.contains($0.definition) }
    if let surplus = try Self.surplus(
      among: known, candidates, maker, isOwner: zone.database.owner == UserName(maker))
    {
      try transaction.removeIndex(surplus, of: zone)
    }
    let index = try transaction.beginIndex(need.definition, of: zone, for: maker)
    return IndexStep(isReady: index.isReady, hasBegun: true, records: Limits.recordsPerIndexStepMax)
  }

  /// Which index goes for another one: the maker's own oldest if they have as many as they may, else, in a full zone, the
  /// oldest of whoever has the most.
  /// - Parameter candidates: Those that may go.
  private static func surplus(
    among known: [RecordIndex], _ candidates: [RecordIndex], _ maker: String, isOwner: Bool
  ) throws(ServiceError) -> RecordIndex? {
    let counts = known.reduce(into: [String: Int]()) { $0[$1.maker, default: 0] += 1 }
    let found: RecordIndex?
    if !isOwner, counts[maker, default: 0] >= Limits.indexesPerVisitorMax {
      found = candidates.first { $0.maker == maker }
    } else {
      guard known.count >= Limits.indexesPerZoneMax else { return nil }
      let most = candidates.compactMap { counts[$0.maker] }.max()
      found = candidates.first { counts[$0.maker] == most }
    }
    guard let found else { throw .indexesAreBusy }
    return found
  }
}

/// What a step towards an index did.
public struct IndexStep: Hashable, Sendable {
  public var isReady: Bool
  /// Whether the index was not there before.
  public var hasBegun = false
  /// How many records were looked at; to begin an index, and to clear it away one day, counts as a full step.
  public var records = 0
}

extension ServiceError {
  /// Other queries wait for as many indexes of the zone as there may be, or took this one's place.
  package static let indexesAreBusy = ServiceError(
    .tryAgainLater, "indexes of other queries replaced the index of this one", retryAfterSeconds: 5)
}
