import VirgaModel
import VirgaServer
import VirgaWire

// Pages of zones' changes, which clients ask for more often than for anything else: little at a time when they keep up,
// and page after page when they are new.

extension Gateway {
  /// Changes that take no longer to read than a change of thread and back.
  private static let fewChanges: Int64 = 32
  private static let fewZones = 8

  /// Answers `changes/zone`: with the page that was prepared for it, at once where there is little, else with a page
  /// that is read beside the loop.
  func readChanges(
    _ requests: [ZoneChangesRequest], _ context: CallContext, _ encode: @escaping @Sendable (Reply) -> [UInt8]
  ) async throws -> [UInt8] {
    let key = PagesAhead.Key(requests, context)
    var prepared: PagesAhead.Page?
    if let key { prepared = await pages.take(key) }
    if requests.count <= Self.fewZones, requests.allSatisfy({ $0.syncToken != nil }) {
      let (zone, bytes) = try await store.read(size: .small) { [service, prepared] transaction in
        try Self.readFew(requests, unless: prepared, service, transaction, context, encode)
      }
      if let bytes { return bytes }
      if let prepared, prepared.zone == zone {
        if let key { prepare(prepared.next, after: key, context, encode) }
        return prepared.bytes
      }
    }
    let page = try await store.read { [service] in try Self.page(requests, service, $0, context, encode) }
    // A zone that changes while it is read would have each page read twice.
    if let key, prepared == nil { prepare(page.next, after: key, context, encode) }
    return page.bytes
  }

  /// Reads the changes if there are few; otherwise says how the zone is, for a page that was prepared.
  private static func readFew(
    _ requests: [ZoneChangesRequest], unless prepared: PagesAhead.Page?, _ service: Service,
    _ transaction: any ReadTransaction, _ context: CallContext, _ encode: (Reply) -> [UInt8]
  ) throws -> (zone: ZoneRow?, bytes: [UInt8]?) {
    var changes: Int64 = 0
    for request in requests {
      guard let outlook = try service.outlook(of: request, in: transaction, context: context) else { return (nil, nil) }
      changes += outlook.changesMax
      if prepared?.zone == outlook.zone || changes > fewChanges { return (outlook.zone, nil) }
    }
    var context = context
    return (nil, encode(try service.read(.changesZone(requests), in: transaction, context: &context)))
  }

  /// Reads a page and writes its answer, both where the store reads.
  private static func page(
    _ requests: [ZoneChangesRequest], _ service: Service, _ transaction: any ReadTransaction, _ context: CallContext,
    _ encode: (Reply) -> [UInt8]
  ) throws -> (bytes: [UInt8], zone: ZoneRow?, next: ZoneChangesRequest?) {
    var context = context
    let reply = try service.read(.changesZone(requests), in: transaction, context: &context)
    let bytes = encode(reply)
    guard requests.count == 1, case .zoneChanges(let results) = reply, case .page(let page)? = results.first,
      let outlook = try service.outlook(of: requests[0], in: transaction, context: context)
    else { return (bytes, nil, nil) }
    var next = requests[0]
    next.syncToken = page.syncToken
    return (bytes, outlook.zone, page.moreComing ? next : nil)
  }

  /// Has the next page made while its client reads the one before.
  private func prepare(
    _ request: ZoneChangesRequest?, after key: PagesAhead.Key, _ context: CallContext,
    _ encode: @escaping @Sendable (Reply) -> [UInt8]
  ) {
    guard let request else { return }
    var key = key
    key.request = request
    guard let number = pages.begin(key) else { return }
    store.read { [service] transaction -> PagesAhead.Page? in
      let page = try Self.page([request], service, transaction, context, encode)
      return page.zone.map { PagesAhead.Page(bytes: page.bytes, zone: $0, next: page.next) }
    } completion: { [pages, key] result in
      // What failed fails again, and is reported, when it is asked for.
      pages.finish(key, number, (try? result.get()) ?? nil)
    }
  }
}
