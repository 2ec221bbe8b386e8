import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Every credential with every call and every database.
///
/// A caller without any credential comes no further than the front, which refuses it with `AUTHENTICATION_FAILED`. A
/// server-to-server key is a stranger here: the front lets it into the public database alone, as `CallTableTests` says.
struct AccessTableTests {
  /// The callers, in the order of the table's columns.
  enum Column: String, CaseIterable {
    /// An API token alone.
    case world
    /// The zone's owner with a device's session, and with a web token.
    case owner, web
    /// Participants who accepted, with each permission, and one who administers the share.
    case writer, reader, administrator
    /// Somebody who was invited and has not accepted, and somebody who was not.
    case invited, stranger

    var caller: Harness.Caller {
      switch self {
      case .world: .world
      case .owner: .alice
      case .web: Harness.Caller("_alice")
      case .writer, .reader, .administrator, .invited, .stranger: Harness.Caller(user, device: "device")
      }
    }

    var user: UserName { UserName("_\(rawValue)") }
  }

  struct Row: CustomTestStringConvertible {
    let scope: DatabaseScope
    let name: String
    let call: Call
    /// One for each column.
    let answers: String
    var testDescription: String { "\(scope.pathName) \(name)" }
  }

  private static let theirs = ShareWorld.zone
  private static let own = ZoneSelector()

  private static func save(_ operation: RecordOperation, _ zone: ZoneSelector) -> Call {
    .recordsModify(RecordsModifyRequest(operations: [operation], zone: zone))
  }

  private static func lookUp(_ name: RecordName, _ zone: ZoneSelector) -> Call {
    .recordsLookup(RecordsLookupRequest(records: [.init(name)], zone: zone))
  }

  private static func zoneModification(_ kind: ZonesModifyRequest.Operation.Kind, _ zone: ZoneSelector) -> Call {
    .zonesModify(ZonesModifyRequest(operations: [.init(kind, zone)]))
  }

  private static let child = RecordOperation.create("new", .text("x")).with { $0.record.parent = .set("root") }

  /// `ok`, or the error of the call or of its only item: `auth` AUTHENTICATION_REQUIRED, `denied` ACCESS_DENIED,
  /// `none` NOT_FOUND, `zone` ZONE_NOT_FOUND, `bad` BAD_REQUEST.
  static let rows: [Row] =
    [
      // database, call                                world   owner  web    writer reader admin  invited stranger
      row(.public, "records/lookup", lookUp("p", own), "ok     ok     ok     ok     ok     ok     ok     ok"),
      row(.public, "create", save(.create("new"), own), "auth   ok     ok     ok     ok     ok     ok     ok"),
      row(.public, "update", save(.force("p"), own), "auth   ok     ok     denied denied denied denied denied"),
      row(.public, "delete", save(.forceDelete("p"), own), "auth   ok     ok     denied denied denied denied denied"),
      row(.public, "zones/list", .zonesList, "ok     ok     ok     ok     ok     ok     ok     ok"),
      row(.public, "zones/lookup", zonesLookup(own), "ok     ok     ok     ok     ok     ok     ok     ok"),
      row(.public, "zones/modify", zoneModification(.create, .init("Z")), allBad),
      row(.public, "changes/database", .changesDatabase(.init()), allBad),
      row(.public, "changes/zone", .changesZone([.init(zone: own)]), allBad),
      row(.public, "records/changes", .recordsChanges(.init(zone: own)), allBad),
      row(.public, "zones/changes", .zonesChanges(.init()), allBad),
      row(.public, "subscriptions/list", .subscriptionsList, signedIn),
      row(.public, "users/caller", .usersCaller, signedIn),
      row(.public, "users/current", .usersCurrent, signedIn),
      row(.public, "users/discover", .usersLookup(.init(lookupInfos: [])), signedIn),
      row(.public, "assets/upload", upload(own), signedIn),
      row(
        .public, "records/resolve", .recordsResolve(.init(shortGUIDs: [.init("GUID")])),
        "auth   ok     ok     ok     ok     ok     ok     denied"),
      row(
        .public, "records/accept", .recordsAccept(.init(shortGUIDs: [.init("GUID")])),
        "auth   ok     ok     ok     ok     ok     ok     denied"),

      row(.private, "records/lookup", lookUp("root", theirs), ownersAlone),
      row(.private, "create", save(.create("new"), theirs), ownersAlone),
      row(.private, "update", save(.force("root"), theirs), ownersAlone),
      row(.private, "delete", save(.forceDelete("diary"), theirs), ownersAlone),
      row(.private, "zones/list", .zonesList, signedIn),
      row(.private, "zones/lookup", zonesLookup(theirs), ownersAlone),
      row(.private, "zones/modify create", zoneModification(.create, .init("Z")), signedIn),
      row(.private, "zones/modify delete", zoneModification(.delete, theirs), ownersAlone),
      row(.private, "changes/database", .changesDatabase(.init()), signedIn),
      row(.private, "changes/zone", .changesZone([.init(zone: theirs)]), ownersAlone),
      row(.private, "records/changes", .recordsChanges(.init(zone: theirs)), ownersAlone),
      row(.private, "zones/changes", .zonesChanges(.init()), signedIn),
      row(.private, "subscriptions/list", .subscriptionsList, signedIn),
      row(.private, "users/caller", .usersCaller, signedIn),
      row(.private, "assets/upload", upload(theirs), ownersAlone),
      row(.private, "tokens/create", .tokensCreate(.init(apnsEnvironment: "development")), signedIn),

      row(.shared, "lookup in the share", lookUp("a", theirs), participants),
      row(
        .shared, "lookup beside it", lookUp("diary", theirs),
        "auth   zone   zone   none   none   none   zone   zone"),
      row(.shared, "create", save(child, theirs), writers),
      row(
        .shared, "create beside it", save(.create("new"), theirs),
        "auth   zone   zone   denied denied denied zone   zone"),
      row(.shared, "update", save(.force("a"), theirs), writers),
      row(
        .shared, "update beside it", save(.update("diary", tag: "1"), theirs),
        "auth   zone   zone   none   none   none   zone   zone"),
      row(.shared, "delete", save(.forceDelete("a"), theirs), writers),
      row(
        .shared, "delete the root", save(.forceDelete("root"), theirs),
        "auth   zone   zone   denied denied denied zone   zone"),
      row(
        .shared, "share", save(ShareWorld.shareOperation(of: "a", name: "S"), theirs),
        "auth   zone   zone   denied denied denied zone   zone"),
      row(.shared, "leave", save(.forceDelete("Share-1"), theirs), participants),
      row(.shared, "zones/list", .zonesList, signedIn),
      row(.shared, "zones/lookup", zonesLookup(theirs), participants),
      row(
        .shared, "zones/modify create", zoneModification(.create, .init("Z")),
        "auth   denied denied denied denied denied denied denied"),
      row(.shared, "zones/modify delete", zoneModification(.delete, theirs), participants),
      row(.shared, "changes/database", .changesDatabase(.init()), signedIn),
      row(.shared, "changes/zone", .changesZone([.init(zone: theirs)]), participants),
      row(.shared, "records/changes", .recordsChanges(.init(zone: theirs)), participants),
      row(.shared, "zones/changes", .zonesChanges(.init()), signedIn),
      row(.shared, "subscriptions/list", .subscriptionsList, signedIn),
      row(.shared, "assets/upload", upload(theirs), writers),
      row(.shared, "query", query(theirs), participants),
      row(.shared, "assets/rereference", rereference(theirs), participants),
      row(.private, "query", query(theirs), ownersAlone),
      row(.private, "assets/rereference", rereference(theirs), ownersAlone),
      row(.public, "query", query(own), "ok     ok     ok     ok     ok     ok     ok     ok"),
      row(.public, "assets/rereference", rereference(own), signedIn),
      row(.private, "records/resolve", .recordsResolve(.init(shortGUIDs: [.init("GUID")])), whoIsInvited),
      row(.private, "records/accept", .recordsAccept(.init(shortGUIDs: [.init("GUID")])), whoIsInvited),
      row(.shared, "records/resolve", .recordsResolve(.init(shortGUIDs: [.init("GUID")])), whoIsInvited),
      row(.shared, "records/accept", .recordsAccept(.init(shortGUIDs: [.init("GUID")])), whoIsInvited),
      row(.shared, "users/caller", .usersCaller, signedIn),
      row(
        .private, "tokens/register", .tokensRegister(.init(apnsEnvironment: "development", apnsToken: "AA==")), noToken),
    ] + DatabaseScope.allCases.flatMap(inEachDatabase)

  private static let whoIsInvited = "auth   ok     ok     ok     ok     ok     ok     denied"
  private static let noToken = "auth   bad    bad    bad    bad    bad    bad    bad"

  /// What concerns the caller alone.
  private static func inEachDatabase(_ scope: DatabaseScope) -> [Row] {
    [
      row(scope, "subscriptions/lookup", .subscriptionsLookup(.init(ids: [])), signedIn),
      row(scope, "subscriptions/modify", .subscriptionsModify(.init(operations: [])), signedIn),
      row(scope, "users/current", .usersCurrent, signedIn),
    ]
      + [UsersLookupRequest.Kind.discover, .email, .id, .phone, .contacts].map { kind in
        let call = Call.usersLookup(.init(kind, lookupInfos: []))
        return row(scope, call.operation.rawValue, call, signedIn)
      }
  }

  @Test func everyCallIsInTheTableForEachDatabase() {
    let known = Set(Self.rows.map { "\($0.scope) \($0.call.operation)" })
    for scope in DatabaseScope.allCases {
      for operation in VirgaWire.Operation.allCases where !operation.isDeviceOperation || scope == .private {
        #expect(known.contains("\(scope) \(operation)"))
      }
    }
  }

  private static func query(_ zone: ZoneSelector) -> Call {
    let filter = QueryFilter("text", .beginsWith, .string("x"))
    return .recordsQuery(RecordsQueryRequest(Query("Entry", filters: [filter]), zone: zone))
  }

  private static func rereference(_ zone: ZoneSelector) -> Call {
    .assetsRereference(AssetsRereferenceRequest(zone: zone, items: []))
  }

  private static let allBad = "bad    bad    bad    bad    bad    bad    bad    bad"
  private static let signedIn = "auth   ok     ok     ok     ok     ok     ok     ok"
  private static let ownersAlone = "auth   ok     ok     denied denied denied denied denied"
  private static let participants = "auth   zone   zone   ok     ok     ok     zone   zone"
  private static let writers = "auth   zone   zone   ok     denied ok     zone   zone"

  private static func row(_ scope: DatabaseScope, _ name: String, _ call: Call, _ answers: String) -> Row {
    Row(scope: scope, name: name, call: call, answers: answers)
  }

  private static func zonesLookup(_ zone: ZoneSelector) -> Call { .zonesLookup(ZonesLookupRequest(zones: [zone])) }

  private static func upload(_ zone: ZoneSelector) -> Call {
    .assetsUpload(AssetsUploadRequest(zone: zone, items: [.init(recordName: "a", recordType: "Entry", fieldName: "f")]))
  }

  /// Alice shares with all participants; each cell begins with this.
  private func makeWorld() throws -> (ShareWorld, ShortGUID) {
    let world = try ShareWorld()
    _ = try world.harness.modify(.create("p"), zone: ZoneSelector(), in: .open)
    var administrator = ShareWorld.invitation("_administrator")
    administrator.role = .administrator
    let share = try world.share(invited: [
      ShareWorld.invitation("_writer"), ShareWorld.invitation("_reader", .readOnly), administrator,
      ShareWorld.invitation("_invited"),
    ])
    for column in [Column.writer, .reader, .administrator] {
      #expect(try world.accept(share, as: column.caller) == nil)
    }
    return (world, ShortGUID(try #require(share.shortGUID)))
  }

  @Test(arguments: rows)
  func eachCallIsAllowedOrRefusedAsTheTableSays(row: Row) throws {
    let expected = row.answers.split(separator: " ").map(String.init)
    var found: [String] = []
    for column in Column.allCases {
      let (world, shortGUID) = try makeWorld()
      var call = row.call
      switch call {
      case .recordsResolve: call = .recordsResolve(.init(shortGUIDs: [shortGUID]))
      case .recordsAccept: call = .recordsAccept(.init(shortGUIDs: [shortGUID]))
      default: break
      }
      do {
        let reply = try world.harness.call(call, as: column.caller, in: .init(scope: row.scope))
        found.append(Self.word(for: reply.itemError?.code))
      } catch let error as ServiceError {
        found.append(Self.word(for: error.code))
      }
    }
    #expect(found == expected)
  }

  private static func word(for code: ServerErrorCode?) -> String {
    switch code {
    case nil: "ok"
    case .authenticationRequired: "auth"
    case .accessDenied: "denied"
    case .notFound: "none"
    case .zoneNotFound: "zone"
    case .badRequest: "bad"
    case let code?: code.rawValue
    }
  }
}

extension Reply {
  /// The error of the reply's first item.
  fileprivate var itemError: ServiceError? {
    switch self {
    case .records(let reply): return reply.records.first?.failure?.error
    case .zones(let zones):
      if case .failure(_, let error) = zones.first { return error }
    case .zoneChanges(let zones):
      if case .failure(_, let error) = zones.first { return error }
    case .shares(let shares):
      if case .failure(_, let error) = shares.first { return error }
    default: break
    }
    return nil
  }
}
