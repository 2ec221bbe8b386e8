extension Reply {
  /// The codes of the items that failed, in their order.
  package var failureCodes: [ServerErrorCode] {
    func codes(_ records: [RecordResult]) -> [ServerErrorCode] {
      records.compactMap { if case .failure(let failure) = $0 { failure.error.code } else { nil } }
    }
    func codes(_ zones: [ZoneResult]) -> [ServerErrorCode] {
      zones.compactMap { if case .failure(_, let error) = $0 { error.code } else { nil } }
    }
    switch self {
    case .records(let reply): return codes(reply.records)
    case .recordChanges(let page): return codes(page.records)
    case .zoneChanges(let results):
      return results.flatMap { result in
        switch result {
        case .page(let page): codes(page.records)
        case .failure(_, let error): [error.code]
        }
      }
    case .zones(let results): return codes(results)
    case .databaseChanges(let reply), .zonesChanges(let reply): return codes(reply.zones)
    case .subscriptions(let results):
      return results.compactMap { if case .failure(_, let error) = $0 { error.code } else { nil } }
    case .shares(let results):
      return results.compactMap { if case .failure(_, let error) = $0 { error.code } else { nil } }
    case .user, .users, .uploadTokens, .assets, .pushToken, .empty: return []
    }
  }
}
