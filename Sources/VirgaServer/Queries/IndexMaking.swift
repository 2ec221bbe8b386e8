public import VirgaModel
import VirgaWire

extension Service {
  /// A step towards an index that a query needs: makes it, or enters some of the zone's records. Each step is small, so
  /// that saves which wait for it do not wait long.
  /// - Parameter maker: Whose query asks.
  /// - Returns: Whether the index is ready, and how many records were looked at.
  public func advance(
    _ need: WriteNeeded, for maker: UserName?, portion: IndexPortion = .usual, in transaction: any WriteTransaction
  ) throws -> (isReady: Bool, records: Int) {
    // Without its zone the query says what there is to say.
    guard let zone = try transaction.zone(need.zone.name, in: need.zone.database), !zone.isDeleted else {
      return (true, 0)
    }
    let known = try transaction.indexes(of: zone)
    if let index = known.first(where: { $0.definition == need.definition }) {
      if index.isReady { return (true, 0) }
      let (filled, records) = try transaction.fillIndex(index, of: zone, portion: portion)
      return (filled.isReady, records)
    }
    let maker = maker?.rawValue ?? ""
    if let surplus = Self.surplus(
      among: known, besides: need.besides, maker, isOwner: zone.database.owner == UserName(maker))
    {
      try transaction.removeIndex(surplus, of: zone)
    }
    return (try transaction.beginIndex(need.definition, of: zone, for: maker).isReady, 0)
  }

  /// Which index goes for another one: the maker's own oldest if they have as many as they may, else, in a full zone, the
  /// oldest of whoever has the most.
  private static func surplus(
    among known: [RecordIndex], besides other: Int64?, _ maker: String, isOwner: Bool
  ) -> RecordIndex? {
    let own = known.filter { $0.maker == maker }
    if !isOwner, own.count >= Limits.indexesPerVisitorMax { return own.first { $0.id != other } }
    guard known.count >= Limits.indexesPerZoneMax else { return nil }
    let counts = known.reduce(into: [String: Int]()) { $0[$1.maker, default: 0] += 1 }
    let most = counts.values.max()
    return known.first { $0.id != other && counts[$0.maker] == most } ?? known.first { $0.id != other }
  }

  /// The same query in one write, for whoever has nobody that waits.
  func queryMakingIndexes(
    _ request: RecordsQueryRequest, in transaction: any WriteTransaction, context: CallContext
  ) throws -> Reply {
    while true {
      do { return try queryRecords(request, in: transaction, context: context) } catch let need as WriteNeeded {
        while try !advance(need, for: context.principal.user, portion: .all, in: transaction).isReady {}
      }
    }
  }
}
