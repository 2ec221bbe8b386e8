import VirgaModel
import VirgaWire

/// A record's place in the order of a query: the values of its sorts, then zone and name.
struct QueryPosition: Hashable, Comparable {
  var key: [UInt8]
  var zone: ZoneID
  var name: RecordName

  static func < (left: QueryPosition, right: QueryPosition) -> Bool {
    if left.key != right.key { return left.key.lexicographicallyPrecedes(right.key) }
    return (left.zone, left.name) < (right.zone, right.name)
  }
}

/// Where a page of a query ended. It holds for that query alone, and for the caller whom it was given.
///
/// On the wire it is Base64 of what `TokenSeal` makes of a version and the position's parts, each but the last with its length
/// before it. It is sealed for the whole query: what a client made or changed, or took from another query, is refused.
struct ContinuationMarker {
  private static let version: UInt8 = 2

  let position: QueryPosition

  init(_ position: QueryPosition) { self.position = position }

  /// - Throws: `badRequest` for what no page of this query gave.
  init(_ text: String, of request: RecordsQueryRequest, _ seal: TokenSeal?) throws {
    let refusal = ServiceError.badRequest(
      "continuationMarker does not belong to this query; repeat the query unchanged")
    guard let sealed = [UInt8](base64: text) else { throw refusal }
    var opened: [UInt8]?
    let query = request.sought
    if let seal {
      opened = seal.open(marker: sealed, of: query)
    } else {
      opened = sealed.starts(with: query) ? Array(sealed.dropFirst(query.count)) : nil
    }
    guard var bytes = opened?[...], bytes.popFirst() == Self.version else { throw refusal }
    func take(_ count: Int) throws -> ArraySlice<UInt8> {
      guard count <= bytes.count else { throw refusal }
      defer { bytes = bytes.dropFirst(count) }
      return bytes.prefix(count)
    }
    func number(_ count: Int) throws -> UInt64 { try take(count).reduce(0) { $0 << 8 | UInt64($1) } }
    func part() throws -> ArraySlice<UInt8> { try take(Int(try number(4))) }
    let key = Array(try part())
    let owner = UserName(String(decoding: try part(), as: UTF8.self))
    let zone = ZoneName(String(decoding: try part(), as: UTF8.self))
    position = QueryPosition(
      key: key, zone: ZoneID(zone, owner: owner), name: RecordName(String(decoding: bytes, as: UTF8.self)))
  }

  func text(for request: RecordsQueryRequest, _ seal: TokenSeal?) -> String {
    var bytes = [Self.version]
    for part in [position.key, Array(position.zone.owner.rawValue.utf8), Array(position.zone.name.rawValue.utf8)] {
      for shift in stride(from: 24, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: part.count >> shift))
      }
      bytes += part
    }
    bytes += position.name.rawValue.utf8
    return (seal?.seal(marker: bytes, of: request.sought) ?? request.sought + bytes).base64
  }
}

extension RecordsQueryRequest {
  /// All of the request that decides what it finds.
  fileprivate var sought: [UInt8] {
    TokenSeal.joined([
      zone?.name.rawValue ?? "", zone?.owner?.rawValue ?? "",
      zone == nil && isZoneWide ? "wide" : "",
    ]) + query.json
  }
}

/// The records of a page as they are found: the first ones in the query's order, as many as fit.
struct QueryPage {
  struct Entry {
    var position: QueryPosition
    var record: StoredRecord
    var zone: OpenZone
  }

  let limit: Int
  private(set) var entries: [Entry] = []
  /// Whether there are records after the last.
  private(set) var isCut = false
  private var bytes = 0

  init(limit: Int) { self.limit = limit }

  /// Whether a record at this position would have no place: it and all after it belong to later pages.
  func excludes(_ position: QueryPosition) -> Bool {
    guard let last = entries.last, last.position < position else { return false }
    return entries.count >= limit || bytes >= Limits.pageBytesMax
  }

  mutating func noteMore() { isCut = true }

  mutating func add(_ entry: Entry) {
    if excludes(entry.position) {
      isCut = true
      return
    }
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].position < entry.position { low = middle + 1 } else { high = middle }
    }
    entries.insert(entry, at: low)
    bytes += Self.size(entry)
    while entries.count > limit || bytes > Limits.pageBytesMax && entries.count > 1 {
      bytes -= Self.size(entries.removeLast())
      isCut = true
    }
  }

  /// Drops what lies after a position behind which not everything was read.
  mutating func cut(after position: QueryPosition) {
    while let last = entries.last, position < last.position {
      bytes -= Self.size(last)
      entries.removeLast()
    }
  }

  private static func size(_ entry: Entry) -> Int { entry.record.fieldsJSON.count + Limits.recordOverheadBytes }
}
