import TestSupport
import Testing
import VirgaModel
import VirgaSchema
import VirgaWire

@testable import VirgaServer

@Suite struct SchemaManagementTests {
  private static let container: ContainerID = "iCloud.test"
  private static let production = Harness.Where(environment: .production)

  private func schema(_ statements: String) throws -> Schema { try Schema("DEFINE SCHEMA " + statements) }

  private func exported(
    _ harness: Harness, _ environment: Environment = .development, container: ContainerID = Self.container
  ) throws -> Schema {
    try harness.write { try Service().schema(of: container, in: environment, transaction: $0) }
  }

  private func perform(
    _ harness: Harness,
    _ body: @escaping @Sendable (any WriteTransaction, inout CallContext) throws -> SchemaReport
  ) throws -> SchemaReport {
    let endpoint = Endpoint(
      container: Self.container, environment: .development, scope: .private, operation: .zonesModify)
    let start = CallContext(
      endpoint: endpoint, principal: .world, now: harness.now, random: SplitMix64(seed: harness.random.next()),
      urls: TestURLs())
    let (report, wakes) = try harness.write { transaction in
      var context = start
      return (try body(transaction, &context), context.wakes)
    }
    harness.wakes = wakes.tokens
    return report
  }

  @discardableResult
  private func importing(
    _ statements: String, _ harness: Harness, into container: ContainerID = Self.container
  ) throws -> SchemaReport {
    let schema = try schema(statements)
    return try perform(harness) {
      try Service().importSchema(schema, into: container, in: $0, context: &$1)
    }
  }

  @discardableResult
  private func deploy(_ harness: Harness) throws -> SchemaReport {
    try perform(harness) { transaction, _ in try Service().deploySchema(of: Self.container, in: transaction) }
  }

  private func difference(_ harness: Harness) throws -> SchemaReport {
    try harness.write { try Service().schemaDifference(of: Self.container, transaction: $0) }
  }

  // MARK: Growth

  @Test func aSaveInDevelopmentMakesFieldsWithTheirUsualIndexesAndGrants() throws {
    let harness = try Harness.withZone()
    let fields: Fields = [
      "b": .bytes([1]), "d": .double(0.5), "i": .int64(1), "l": .location(Location(latitude: 1, longitude: 2)),
      "r": .reference(Reference(recordName: "r")), "s": .string("x"), "sl": .stringList(["x"]),
      "t": .timestamp(Timestamp(milliseconds: 0)),
    ]
    #expect(try harness.modify(.create("r", fields)).code == nil)
    #expect(
      try exported(harness)["Entry"]?.text == """
            RECORD TYPE Entry (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                b               BYTES,
                d               DOUBLE QUERYABLE SORTABLE,
                i               INT64 QUERYABLE SORTABLE,
                l               LOCATION QUERYABLE SORTABLE,
                r               REFERENCE QUERYABLE,
                s               STRING QUERYABLE SEARCHABLE SORTABLE,
                sl              LIST<STRING> QUERYABLE SEARCHABLE,
                t               TIMESTAMP QUERYABLE SORTABLE,
                GRANT WRITE TO "_creator",
                GRANT CREATE TO "_icloud",
                GRANT READ TO "_world"
            );

        """)
  }

  /// C124: the export can be carried to a service whose production takes no share without the type.
  @Test func theFirstShareInDevelopmentPutsItsTypeIntoTheSchema() throws {
    let world = try ShareWorld()
    let harness = world.harness
    #expect(try exported(harness)[.share] == nil)
    let refused = try harness.modify(ShareWorld.shareOperation(of: "nobody", name: "S"))
    #expect(refused.code != nil)
    #expect(try exported(harness)[.share] == nil)
    try world.share()
    #expect(try exported(harness)[.share] == Schema.sharesType.completed())
    #expect(try exported(harness, .production)[.share] == nil)
    // A file that leaves it out takes nothing away: the shares are there.
    let report = try importing("RECORD TYPE Entry (text STRING QUERYABLE SEARCHABLE SORTABLE);", harness)
    #expect(report.isApplied && !report.changes.map(\.text).contains { $0.contains("cloudkit") })
    #expect(try exported(harness)[.share] == Schema.sharesType.completed())
    #expect(try deploy(harness).isApplied)
    #expect(try exported(harness, .production)[.share] == Schema.sharesType.completed())
    #expect(try importing("RECORD TYPE Entry (text STRING);", harness).isApplied)
    #expect(try harness.lookUp(["Share-1"])[0].code == nil)
  }

  @Test func theTypeOfSharesIsImportedDeployedAndExported() throws {
    let harness = Harness()
    let statement =
      #"RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, GRANT READ TO "_world", GRANT WRITE TO "_creator");"#
    #expect(try importing(statement, harness).isApplied)
    #expect(try deploy(harness).isApplied)
    for environment in Environment.allCases {
      let text = try exported(harness, environment)[.share]?.text ?? ""
      for line in [
        #""cloudkit.thumbnailImageData" BYTES"#, #""cloudkit.title"              STRING"#,
        #""cloudkit.type"               STRING"#,
      ] {
        #expect(text.contains(line), "\(text)")
      }
    }
    // Where the type is declared, shares are made as everywhere.
    try harness.makeZone("Diary")
    #expect(try harness.modify(.create("root")).code == nil)
    #expect(try harness.modify(ShareWorld.shareOperation()).code == nil)
    #expect(try difference(harness).changes.map(\.subject) == ["Entry"])
  }

  @Test func schemasOfTheFirstFormatAreStillRead() throws {
    let harness = try Harness.withZone()
    try harness.write { transaction in
      for (environment, text) in [("development", "a STRING\nb LIST<INT64>\n"), ("production", "a STRING\n")] {
        try transaction.put(
          Entity(
            .recordType, key: "iCloud.test/\(environment)/Entry", owner: "iCloud.test/\(environment)",
            value: Array(text.utf8)))
      }
    }
    let development = try #require(try exported(harness)["Entry"])
    #expect(development["a"]?.indexes == [.queryable, .searchable, .sortable])
    #expect(development["b"] == SchemaField("b", .value(.int64, isList: true), .queryable))
    #expect(development.grants == SchemaGrant.usual)
    #expect(try harness.modify(.create("r", ["a": .int64(1)])).code == .badRequest)
    // The next save that adds to it writes it in the new format.
    #expect(try harness.modify(.create("r", ["a": .string("x"), "c": .double(1)])).code == nil)
    #expect(try difference(harness).changes.map(\.subject) == ["Entry.b", "Entry.c"])
  }

  @Test(arguments: [
    "2\na\tSTRING\n", "2\na\tNONE\t1\n", "2\na\tSTRING\t9\n", "2\n@role\n", "2\n\n\ta\n", "a\n", "a NONE\n",
  ])
  func damagedSchemasAreToldApartFromMissingOnes(text: String) throws {
    let harness = try Harness.withZone()
    try harness.write { transaction in
      try transaction.put(
        Entity(
          .recordType, key: "iCloud.test/development/Entry", owner: "iCloud.test/development", value: Array(text.utf8)))
    }
    #expect(throws: StoreError.damaged("the schema of type 'Entry' cannot be read")) {
      _ = try harness.modify(.create("r"))
    }
  }

  @Test func numbersOfAnOpenKindTakeBothAndSettledOnesOne() throws {
    let harness = try Harness.withZone()
    try importing("RECORD TYPE Entry (n NUMBER, l LIST<NUMBER>, i NUMBER PREFERRED AS INT64);", harness)
    for value: FieldValue in [.int64(1), .double(0.5)] {
      #expect(try harness.modify(.force("r", ["n": value])).record?.value("n") == value)
    }
    for value: FieldValue in [.int64List([1]), .doubleList([0.5]), .emptyList] {
      #expect(try harness.modify(.force("r", ["l": value])).record?.value("l") == value)
    }
    for (field, value): (FieldName, FieldValue) in [
      ("n", .string("1")), ("n", .int64List([1])), ("l", .int64(1)), ("i", .double(0.5)),
    ] {
      #expect(try harness.modify(.force("r", [field: value])).code == .badRequest)
    }
    #expect(
      try harness.modify(.force("r", ["n": .string("1")])).failure?.error.reason
        == "invalid attempt to set value type STRING for field 'n' for type 'Entry', defined to be: NUMBER")
    // The choice is final, in development too once it was deployed.
    try deploy(harness)
    try importing(
      "RECORD TYPE Entry (n NUMBER PREFERRED AS DOUBLE, l LIST<NUMBER>, i NUMBER PREFERRED AS INT64);", harness)
    #expect(try deploy(harness).isApplied)
    #expect(
      try importing("RECORD TYPE Entry (n NUMBER, l LIST<NUMBER>, i NUMBER PREFERRED AS DOUBLE);", harness)
        .refusals.map(\.subject) == ["Entry.i", "Entry.n"])
  }

  // MARK: Import and export

  @Test func anImportedSchemaIsExportedAsItWas() throws {
    // C114, C58: nothing depends on what was saved, and a second import changes nothing.
    let harness = Harness()
    let text = """
      CREATE ROLE zeta; CREATE ROLE alpha;
      RECORD TYPE Trip (
        "___recordID" REFERENCE QUERYABLE, name STRING SEARCHABLE, secret ENCRYPTED STRING, days LIST<REFERENCE>,
        place LOCATION QUERYABLE, length NUMBER, GRANT READ, CREATE TO alpha, GRANT WRITE TO zeta
      );
      RECORD TYPE Empty ();
      """
    let first = try importing(text, harness)
    #expect(first.isApplied)
    #expect(first.changes.map(\.kind) == ["roleAdded", "roleAdded", "recordTypeAdded", "recordTypeAdded"])
    let export = try exported(harness)
    #expect(try export == schema(text).completed())
    let copy = Harness()
    try importing(String(export.text.dropFirst("DEFINE SCHEMA".count)), copy)
    #expect(try exported(copy).text == export.text)
    #expect(try importing(text, harness).changes == [])
    #expect(try exported(harness) == export)
    #expect(try exported(harness, container: "iCloud.other") == Schema().completed())
    // What was declared is known to saves.
    try harness.makeZone("Diary")
    #expect(try harness.modify(.create("r", ["days": .stringList(["x"])], type: "Trip")).code == .badRequest)
  }

  @Test func rolesKeepTheirNumbers() throws {
    let harness = Harness()
    func roles() throws -> [String] {
      try harness.write { try $0.roles(of: Self.container, in: .development).entries.map { "\($0.number) \($0.role)" } }
    }
    try importing("CREATE ROLE b; CREATE ROLE a;", harness)
    #expect(try roles() == ["1 b", "2 a"])
    try importing("CREATE ROLE c; CREATE ROLE a;", harness)
    #expect(try roles() == ["2 a", "3 c"])
    try importing("CREATE ROLE a;", harness)
    try importing("CREATE ROLE a; CREATE ROLE b;", harness)
    #expect(try roles() == ["2 a", "4 b"])
  }

  @Test func whatDevelopmentHadMoreGoesWithItsData() throws {
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    _ = try harness.modify([
      .create("gone", ["x": .int64(1)], type: "Gone"),
      .create(
        "kept", ["a": .string("x"), "b": .int64(1), "r": .reference(Reference(recordName: "gone"))], type: "Kept"),
      .create("other", ["a": .string("y")], type: "Other"),
    ])
    let secret = FieldChange("s", Field(.string("secret"), isEncrypted: true))
    #expect(
      try harness.modify(RecordOperation(.forceUpdate, RecordChange(name: "kept", fields: [secret]))).code == nil)
    _ = try harness.modify(.create("public", ["x": .int64(1)], type: "Gone"), zone: ZoneSelector(), in: .open)
    let before = try harness.page()

    let report = try importing(
      "RECORD TYPE Kept (a STRING, s ENCRYPTED STRING, r REFERENCE); RECORD TYPE Other (a INT64);", harness)
    #expect(report.isApplied)
    #expect(report.recordsChanged == 4)
    #expect(report.changes.filter(\.losesData).map(\.subject) == ["Gone", "Kept.b", "Other.a"])
    #expect(try harness.record("gone") == nil)
    #expect(try harness.lookUp(["public"], zone: ZoneSelector(), in: .open)[0].record == nil)
    let kept = try #require(try harness.record("kept"))
    #expect(try kept.fields.map(\.name) == ["a", "r", "s"])
    #expect(try kept.value("s") == .string("secret"))
    #expect(try harness.record("other")?.fields.isEmpty == true)
    // Readers are told.
    let page = try harness.page(before.syncToken)
    #expect(page.records.map(\.name).sorted() == ["gone", "kept", "other"])
    #expect(page.records.filter(\.isDeleted).map(\.name) == ["gone"])
    #expect(try harness.modify(.create("again", ["a": .int64(1)], type: "Other")).code == nil)
  }

  @Test func anImportThatLosesWhatProductionHasIsRefused() throws {
    // C57
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r", ["a": .string("x")]))
    try deploy(harness)
    let before = try exported(harness)
    for (text, subjects) in [
      ("RECORD TYPE Other (a STRING);", ["Entry"]), ("RECORD TYPE Entry (b STRING);", ["Entry.a"]),
      ("RECORD TYPE Entry (a ENCRYPTED STRING);", ["Entry.a"]),
    ] {
      let report = try importing(text, harness)
      #expect(report.refusals.map(\.subject) == subjects)
      #expect(!report.isApplied)
    }
    #expect(try exported(harness) == before)
    #expect(try harness.record("r")?.value("a") == .string("x"))
  }

  // MARK: Deploy

  @Test func aDeployAddsAndAllowsWhatWasRefused() throws {
    // C47
    let harness = try Harness.withZone()
    _ = try harness.zones(
      .zonesModify(.init(operations: [.init(.create, Harness.diary)])), in: Self.production)
    let operation = RecordOperation.create("r", ["a": .string("x")])
    let refused = try harness.modify(operation, in: Self.production).failure?.error
    #expect(
      refused
        == ServiceError(
          .notFound,
          "Cannot create new type Entry in production schema; "
            + "deploy it from development first: virga schema deploy --container iCloud.test"))
    _ = try harness.modify(operation)
    #expect(try difference(harness).changes.map(\.subject) == ["Entry"])
    #expect(try deploy(harness).isApplied)
    #expect(try difference(harness) == SchemaReport(changes: [], refusals: []))
    #expect(try harness.modify(operation, in: Self.production).code == nil)
    // Indexes may go, and grants change.
    try importing("RECORD TYPE Entry (a STRING SORTABLE, GRANT READ TO \"_icloud\");", harness)
    #expect(try deploy(harness).isApplied)
    #expect(try exported(harness, .production)["Entry"]?["a"]?.indexes == .sortable)
    #expect(try exported(harness, .production)["Entry"]?.grants == [SchemaGrant(.read, to: .icloud)])
  }

  @Test func aRefusedDeployLeavesProductionAsItIs() throws {
    // C57
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r", ["a": .string("x")]))
    try deploy(harness)
    // Development's schema can be made to differ by hand alone, as by a backup that was put back.
    try harness.write { transaction in
      try transaction.put(
        try Schema("DEFINE SCHEMA RECORD TYPE Entry (a INT64); RECORD TYPE More ();"), of: Self.container,
        in: .development)
    }
    let before = try exported(harness, .production)
    let report = try deploy(harness)
    #expect(!report.isApplied)
    #expect(report.refusals.map(\.subject) == ["Entry.a"])
    #expect(report.changes.contains { $0.subject == "More" })
    #expect(try exported(harness, .production) == before)
  }

  // MARK: Losses and shares

  private static let key = DatabaseKey(container: container, environment: .development, owner: "_alice")

  private func expectUsage(_ harness: Harness, _ location: SourceLocation = #_sourceLocation) throws {
    let usage = try harness.write { try $0.usage(of: "Diary", in: Self.key) }
    #expect(usage.zone == usage.records && usage.database == usage.records, sourceLocation: location)
  }

  /// Puts a record of type `Photo` with an asset below the root of a share.
  private func putPhoto(_ world: ShareWorld) throws {
    let photo = RecordOperation.create("photo", ["title": .string("x")], type: "Photo").with {
      $0.record.parent = .set("root")
    }
    #expect(try world.harness.modify(photo).code == nil)
    let below = RecordOperation.create("below", .text("x")).with { $0.record.parent = .set("photo") }
    #expect(try world.harness.modify(below).code == nil)
    try world.harness.write { transaction in
      var database = try #require(try transaction.database(Self.key))
      var zone = try #require(try transaction.zone("Diary", in: Self.key))
      try transaction.put(AssetRow(checksum: "sum", size: 1_000, uploaded: Timestamp(milliseconds: 1)))
      let live = try #require(try transaction.record("photo", in: zone))
      var next = live
      zone.sequence += 1
      next.sequence = zone.sequence
      next.fieldsJSON = (["file": .asset(AssetValue(fileChecksum: "sum", size: 1_000))] as Fields).storedJSON
      next.assetChecksums = ["sum"]
      next.references = [.init(target: "root", kind: .parent)]
      let added = next.jsonBytes - live.jsonBytes + 1_000
      try transaction.put(next, in: zone, replacing: live, keepsVersion: true)
      zone.usedBytes += added
      database.usedBytes += added
      try transaction.put(database)
      try transaction.put(&zone)
    }
    try importing("RECORD TYPE Entry (text STRING); RECORD TYPE Photo (title STRING, file ASSET);", world.harness)
    try expectUsage(world.harness)
  }

  @Test func participantsSeeNoMoreOfATypeThatWasRemoved() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    try putPhoto(world)
    let (page, feed) = (try world.page(), try world.databaseChanges())
    #expect(ShareWorld.told(page).contains("photo"))
    #expect(try importing("RECORD TYPE Entry (text STRING);", world.harness).recordsChanged == 1)
    try expectUsage(world.harness)
    #expect(try world.databaseChanges(feed.syncToken).zones.map { $0.zone?.id.name } == ["Diary"])
    #expect(throws: ServiceError.changeTokenExpired) { _ = try world.page(page.syncToken) }
    // What was below it has left the share.
    #expect(try ShareWorld.told(world.page()).sorted() == ["Share-1", "a", "b", "root"])
  }

  @Test func aRemovedFieldsAssetCountsNoMore() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    try putPhoto(world)
    let page = try world.page()
    try importing("RECORD TYPE Entry (text STRING); RECORD TYPE Photo (title STRING);", world.harness)
    try expectUsage(world.harness)
    #expect(try ShareWorld.told(world.page(page.syncToken)) == ["photo"])
  }

  @Test func aShareEndsWithTheTypeOfItsRoot() throws {
    let world = try ShareWorld()
    let share = try world.shareWithBob()
    try putPhoto(world)
    try importing("RECORD TYPE Photo (title STRING, file ASSET);", world.harness)
    try expectUsage(world.harness)
    #expect(try world.zones() == [] && world.resolve(share) == nil)
    #expect(try world.harness.record("Share-1") == nil)
    let sharing = try world.harness.write { try $0.zone("Diary", in: Self.key)?.sharing }
    #expect(sharing == ZoneSharing.none)
  }

  @Test func sharesNeedNoSchema() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    let entry = "RECORD TYPE Entry (text STRING);"
    try importing(entry + #" RECORD TYPE "cloudkit.share" (x STRING, y STRING);"#, world.harness)
    try importing(entry + #" RECORD TYPE "cloudkit.share" (x STRING);"#, world.harness)
    try importing(entry, world.harness)
    #expect(try world.harness.record("Share-1")?.json.contains("My diary") == true)
    #expect(try world.zones().count == 1)
  }

  // MARK: Reset

  @Test func aResetCopiesProductionsSchemaAndDeletesDevelopmentsData() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r", ["a": .string("x")]))
    try deploy(harness)
    _ = try harness.modify([.create("s", ["b": .string("x")]), .create("t", type: "Other")])
    _ = try harness.modify(.create("p", ["a": .string("x")]), zone: ZoneSelector(), in: .open)
    _ = try harness.modify(.create("d", ["a": .string("x")]), zone: ZoneSelector())
    _ = try harness.zones(
      .zonesModify(.init(operations: [.init(.create, Harness.diary)])), in: Self.production)
    _ = try harness.modify(.create("r", ["a": .string("x")]), in: Self.production)
    let (feed, page) = (try harness.databaseChanges(), try harness.page())

    let report = try perform(harness) {
      try Service().resetSchema(of: Self.container, in: $0, context: &$1)
    }
    #expect(report.isApplied)
    #expect(report.recordsChanged == 5)
    #expect(try exported(harness) == exported(harness, .production))
    #expect(try harness.lookUp(["p"], zone: ZoneSelector(), in: .open)[0].record == nil)
    #expect(try harness.lookUp(["d"], zone: ZoneSelector())[0].record == nil)
    let changes = try harness.databaseChanges(feed.syncToken)
    #expect(changes.zones.compactMap(\.zone).filter(\.isDeleted).map(\.id.name) == ["Diary"])
    #expect(try harness.record("r", in: Self.production) != nil)

    try harness.makeZone("Diary")
    #expect(throws: ServiceError.changeTokenExpired) { _ = try harness.page(page.syncToken) }
    #expect(try harness.page().records.isEmpty)
  }
}
