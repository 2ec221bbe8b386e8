import VirgaModel
import VirgaWire

/// Where a page of a query ended. It holds for that query alone, and for the caller whom it was given.
///
/// On the wire it is Base64 of what `TokenCipher` makes of a version and the position's parts, each but the last with its length
/// before it. It is sealed for the whole query: what a client made or changed, or took from another query, is refused.
struct ContinuationMarker {
  private static let version: UInt8 = 2

  let position: QueryPosition

  init(_ position: QueryPosition) { self.position = position }

  /// - Throws: `badRequest` for what no page of this query gave.
  init(_ text: String, of request: RecordsQueryRequest, _ seal: TokenCipher?) throws {
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

  func text(for request: RecordsQueryRequest, _ seal: TokenCipher?) -> String {
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
