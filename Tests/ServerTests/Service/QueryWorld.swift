import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaServerSQLite
import VirgaWire

@testable import VirgaServer

/// The rules over either store, for queries.
final class QueryWorld: Sendable {
  static let zone: ZoneSelector = ZoneSelector("Diary")

  let under: StoreUnderTest
  let service: Service

  /// - Parameter scans: Whether small zones are read without indexes, as usual.
  init(_ kind: StoreKind, scans: Bool = false) async throws {
    under = try kind.open()
    var service = Service()
    if !scans { service.recordsScannedPerZoneMax = 0 }
    self.service = service
    try await makeZone("Diary")
  }

  func makeZone(_ name: ZoneName) async throws {
    _ = try await call(.zonesModify(ZonesModifyRequest(operations: [.init(.create, ZoneSelector(name))])))
  }

  func call(
    _ call: Call, user: UserName? = "_alice", scope: DatabaseScope = .private, environment: Environment = .development,
    now: Int64 = 1_700_000_000_000, syncToken: Bool = false
  ) async throws -> Reply {
    let endpoint = Endpoint(
      container: "iCloud.test", environment: environment, scope: scope, operation: call.operation)
    var start = CallContext(
      endpoint: endpoint, principal: Principal(user: user, account: nil, device: nil),
      now: Timestamp(milliseconds: now), random: SplitMix64(seed: 7), urls: TestURLs())
    start.wantsExtensions = true
    start.wantsSyncToken = syncToken
    start.cipher = TestCipher()
    start.tokenCipher = TestCipher()
    let context = start
    if call.operation.isReadOnly {
      do {
        return try await under.read { [service] transaction in
          var context = context
          return try service.read(call, in: transaction, context: &context)
        }
      } catch let need as WriteNeeded {
        return try await under.write { [service] transaction in
          var context = context
          return try service.making(need, for: user, in: transaction) {
            try service.read(call, in: transaction, context: &context)
          }
        }
      }
    }
    return try await under.write { [service] transaction in
      var context = context
      return try service.write(call, in: transaction, context: &context)
    }
  }

  @discardableResult
  func save(
    _ operations: [RecordOperation], in zone: ZoneSelector = QueryWorld.zone, scope: DatabaseScope = .private,
    user: UserName = "_alice", now: Int64 = 1_700_000_000_000
  ) async throws -> [RecordResult] {
    var results: [RecordResult] = []
    for start in stride(from: 0, to: operations.count, by: 400) {
      let part = Array(operations[start..<min(start + 400, operations.count)])
      let request = RecordsModifyRequest(operations: part, zone: zone)
      guard case .records(let reply) = try await call(.recordsModify(request), user: user, scope: scope, now: now)
      else { return [] }
      results += reply.records
    }
    return results
  }

  func lookUp(_ name: RecordName, user: UserName = "_alice") async throws -> RecordEnvelope? {
    let request = RecordsLookupRequest(records: [.init(name)], zone: QueryWorld.zone)
    guard case .records(let reply) = try await call(.recordsLookup(request), user: user) else { return nil }
    return reply.records[0].record
  }

  func page(
    _ query: Query, zone: ZoneSelector? = QueryWorld.zone, wide: Bool = false, limit: Int? = nil,
    after marker: String? = nil,
    scope: DatabaseScope = .private, user: UserName? = "_alice", environment: Environment = .development
  ) async throws -> RecordsReply {
    var request = RecordsQueryRequest(query, zone: zone, zoneWide: wide)
    request.resultsLimit = limit
    request.continuationMarker = marker
    guard
      case .records(let reply) = try await call(
        .recordsQuery(request), user: user, scope: scope, environment: environment)
    else { throw StoreError.other("no records") }
    return reply
  }

  /// All pages together; a marker that comes twice is an error.
  func all(
    _ query: Query, zone: ZoneSelector? = QueryWorld.zone, wide: Bool = false, limit: Int? = nil
  ) async throws -> [RecordEnvelope] {
    var found: [RecordEnvelope] = []
    var marker: String?
    repeat {
      let reply = try await page(query, zone: zone, wide: wide, limit: limit, after: marker)
      found += reply.records.compactMap(\.record)
      #expect(reply.continuationMarker == nil || reply.continuationMarker != marker)
      marker = reply.continuationMarker
    } while marker != nil
    return found
  }

  func names(_ query: Query) async throws -> [String] { try await all(query).map(\.id.name.rawValue) }

  func failure(
    _ query: Query, zone: ZoneSelector? = QueryWorld.zone, scope: DatabaseScope = .private,
    environment: Environment = .development, after marker: String? = nil
  ) async throws -> ServiceError? {
    do {
      _ = try await page(query, zone: zone, after: marker, scope: scope, environment: environment)
      return nil
    } catch let error as ServiceError {
      return error
    }
  }

  /// Gives fields of a type, declared or saved before, these indexes.
  func mark(_ type: RecordType, _ fields: [SchemaField]) async throws {
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .private, operation: .zonesModify)
    let context = CallContext(
      endpoint: endpoint, principal: .world, now: Timestamp(milliseconds: 1), random: SplitMix64(seed: 3),
      urls: TestURLs())
    try await under.write { [service] transaction in
      var context = context
      var schema = try service.schema(of: "iCloud.test", in: .development, transaction: transaction)
      if schema[type] == nil { schema.recordTypes.append(SchemaRecordType(type, grants: SchemaGrant.usual)) }
      let position = try #require(schema.recordTypes.firstIndex { $0.name == type })
      schema.recordTypes[position].fields.removeAll { field in fields.contains { $0.name == field.name } }
      schema.recordTypes[position].fields += fields
      let report = try service.importSchema(schema, into: "iCloud.test", in: transaction, context: &context)
      #expect(report.isApplied)
    }
  }

  /// Marks all system fields that can be.
  func markSystemFields(of type: RecordType) async throws {
    try await mark(
      type,
      [
        SchemaField("___recordID", .value(.reference), .queryable),
        SchemaField("___createdBy", .value(.reference), .queryable),
        SchemaField("___modifiedBy", .value(.reference), .queryable),
        SchemaField("___createTime", .value(.timestamp), [.queryable, .sortable]),
        SchemaField("___modTime", .value(.timestamp), [.queryable, .sortable]),
      ])
  }
}
