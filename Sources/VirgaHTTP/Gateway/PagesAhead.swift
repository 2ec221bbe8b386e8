import Synchronization
import VirgaServer
import VirgaWire

/// The next pages of feeds that clients are reading: each is made while its client reads the one before.
///
/// A page is given out once, and only for the request that it was made for. Whoever takes it looks whether its zone is
/// still as it was, so nobody is told less than a page made now would say. What nobody asks for is dropped after a second
/// or two.
final class PagesAhead: Sendable {
  /// All that a page depends on besides the zone.
  struct Key: Hashable, Sendable {
    let endpoint: Endpoint
    let principal: Principal
    var request: ZoneChangesRequest
    let wantsExtensions: Bool
    let recordsMax: Int
    let place: SignedURLs.Place

    /// - Returns: `nil` for what is not prepared: several zones, the zones of others, and walks from the newest change.
    init?(_ requests: [ZoneChangesRequest], _ context: CallContext) {
      guard requests.count == 1, context.endpoint.scope == .private, !requests[0].isReversed,
        let place = (context.urls as? SignedURLs)?.place
      else { return nil }
      endpoint = context.endpoint
      principal = context.principal
      request = requests[0]
      wantsExtensions = context.wantsExtensions
      recordsMax = context.recordsPerPageMax
      self.place = place
    }
  }

  struct Page: Sendable {
    var bytes: [UInt8]
    /// The zone in the snapshot that the page was read from.
    var zone: ZoneRow
    /// Asks for the page behind it; `nil` if there is none.
    var next: ZoneChangesRequest?
  }

  fileprivate enum State {
    case underWay
    case awaited(UnsafeContinuation<Page?, Never>)
    case ready(Page)
  }

  fileprivate struct Entry {
    var state: State
    /// Tells it from a later one of the same key.
    var number: Int
    var lastTick: Int
  }

  fileprivate struct Table {
    var entries: [Key: Entry] = [:]
    var bytes = 0
    var tick = 0
    var begun = 0
    var taken = 0
  }

  /// Of all clients.
  static let pagesMax = 64
  static let bytesMax = 8 << 20

  private let table = Mutex(Table())

  var count: Int { table.withLock { $0.entries.count } }
  var bytes: Int { table.withLock { $0.bytes } }
  /// Pages that were asked for and there, or under way.
  var taken: Int { table.withLock { $0.taken } }

  /// Takes a place for a page that is going to be made.
  /// - Returns: What to name it by when it is; `nil` if there is no room, or it is being made already.
  func begin(_ key: Key) -> Int? {
    table.withLock { table in
      guard table.entries.count < Self.pagesMax, table.bytes < Self.bytesMax, table.entries[key] == nil else {
        return nil
      }
      table.begun += 1
      table.entries[key] = Entry(state: .underWay, number: table.begun, lastTick: table.tick + 1)
      return table.begun
    }
  }

  /// Brings the page that a place was taken for; `nil` if it could not be made.
  func finish(_ key: Key, _ number: Int, _ page: Page?) {
    let waiting = table.withLock { table -> UnsafeContinuation<Page?, Never>? in
      guard var entry = table.entries[key], entry.number == number else { return nil }
      if case .awaited(let continuation) = entry.state {
        table.entries[key] = nil
        return continuation
      }
      guard let page, table.bytes + page.bytes.count <= Self.bytesMax else {
        table.entries[key] = nil
        return nil
      }
      table.bytes += page.bytes.count
      entry.state = .ready(page)
      entry.lastTick = table.tick + 1
      table.entries[key] = entry
      return nil
    }
    waiting?.resume(returning: page)
  }

  /// Gives out a page, and waits for one that is under way.
  func take(_ key: Key) async -> Page? {
    guard table.withLock({ $0.entries[key] != nil }) else { return nil }
    return await withUnsafeContinuation { continuation in
      let page = table.withLock { table -> Page?? in
        guard var entry = table.entries[key] else { return .some(nil) }
        switch entry.state {
        case .ready(let page):
          table.drop(key, page)
          table.taken += 1
          return page
        case .underWay:
          table.taken += 1
          entry.state = .awaited(continuation)
          table.entries[key] = entry
          return nil
        case .awaited: return .some(nil)
        }
      }
      if let page { continuation.resume(returning: page) }
    }
  }

  /// A second has passed: what nobody asked for goes.
  func tick() {
    table.withLock { table in
      table.tick += 1
      for (key, entry) in table.entries where entry.lastTick < table.tick {
        if case .ready(let page) = entry.state { table.drop(key, page) }
      }
    }
  }
}

extension PagesAhead.Table {
  fileprivate mutating func drop(_ key: PagesAhead.Key, _ page: PagesAhead.Page) {
    entries[key] = nil
    bytes -= page.bytes.count
  }
}
