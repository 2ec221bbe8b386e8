import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaSchema

@Suite struct TextTests {
  @Test func everythingThatTheLanguageHasIsReadAndPrinted() throws {
    let text = """
      -- a comment
      define schema /* another
        one */ create role "Editor"; // and a third
      record type "My.Type" (
        "___recordID" reference queryable, place location sortable Queryable, secret encrypted string,
        keys LIST < ENCRYPTED BYTES >, n number, m NUMBER PREFERRED AS DOUBLE, list LIST<NUMBER>,
        "grant" STRING, type STRING, record INT64, "sortable" BYTES, photo ASSET, created TIMESTAMP,
        GRANT WRITE, READ TO Editor, GRANT READ TO "_world"
      );
      RECORD TYPE Empty();
      """
    let printed = """
      DEFINE SCHEMA

          CREATE ROLE Editor;

          RECORD TYPE "My.Type" (
              "___recordID" REFERENCE QUERYABLE,
              place         LOCATION QUERYABLE SORTABLE,
              secret        ENCRYPTED STRING,
              keys          LIST<ENCRYPTED BYTES>,
              n             NUMBER,
              m             NUMBER PREFERRED AS DOUBLE,
              list          LIST<NUMBER>,
              "grant"       STRING,
              type          STRING,
              record        INT64,
              "sortable"    BYTES,
              photo         ASSET,
              created       TIMESTAMP,
              GRANT READ, WRITE TO Editor,
              GRANT READ TO "_world"
          );

          RECORD TYPE Empty (
          );

      """
    let schema = try Schema(text)
    #expect(schema.text == printed)
    #expect(try Schema(printed) == schema)
  }

  @Test func aCompletedSchemaHasSystemFieldsUsersAndOneGrantARole() throws {
    let schema = try Schema(
      """
      DEFINE SCHEMA
      RECORD TYPE b (z STRING, A INT64, GRANT READ TO "_icloud", GRANT CREATE TO "_icloud", GRANT READ TO "_creator");
      RECORD TYPE Z ("___createdBy" REFERENCE QUERYABLE);
      """)
    #expect(
      schema.completed().text == """
        DEFINE SCHEMA

            RECORD TYPE Users (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                roles           LIST<INT64>,
                GRANT WRITE TO "_creator",
                GRANT READ TO "_world"
            );

            RECORD TYPE Z (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE QUERYABLE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE
            );

            RECORD TYPE b (
                A               INT64,
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE,
                z               STRING,
                GRANT READ TO "_creator",
                GRANT READ, CREATE TO "_icloud"
            );

        """)
  }

  @Test func namesOfTypesAreReadBack() {
    for seed in 0..<200 {
      var random = SplitMix64(seed: UInt64(seed))
      let type = SchemaDataType.random(using: &random)
      #expect(SchemaDataType(name: type.name) == type)
    }
    for name in ["", "LIST<>", "LIST<LIST<STRING>>", "NUMBER PREFERRED AS STRING", "ENCRYPTED NUMBER", "string"] {
      #expect(SchemaDataType(name: name) == nil, "\(name)")
    }
  }

  @Test func printedSchemasAreReadBack() throws {
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      let schema = Schema.random(using: &random)
      let read = try Schema(schema.text)
      #expect(read == schema, "seed \(seed)")
      #expect(try Schema(schema.completed().text) == schema.completed(), "seed \(seed)")
      #expect(schema.changes(to: schema.completed()).isEmpty, "seed \(seed)")
    }
  }

  @Test func differencesAreEmptyOnlyBetweenEqualSchemasAndInvert() {
    for seed in 0..<300 {
      var random = SplitMix64(seed: UInt64(seed))
      let (one, other) = (Schema.random(using: &random), Schema.random(using: &random))
      let (there, back) = (one.changes(to: other), other.changes(to: one))
      #expect(there.isEmpty == back.isEmpty, "seed \(seed)")
      #expect(there.count == back.count, "seed \(seed)")
      if there.isEmpty { #expect(Set(one.roles) == Set(other.roles), "seed \(seed)") }
      // What may be deployed one way and the other loses nothing either way.
      if SchemaEvolution(from: one, to: other).isAllowed { #expect(there.allSatisfy { !$0.losesData }) }
    }
  }

  @Test func damagedTextsNeverTrap() {
    // `VIRGA_FUZZ_SECONDS` makes it a long run, with another seed each time.
    let environment = ProcessInfo.processInfo.environment
    let duration = environment["VIRGA_FUZZ_SECONDS"].flatMap { Int($0) }.map { Duration.seconds($0) }
    let start = ContinuousClock.now
    let seed = duration == nil ? 20_261_130 : UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    var seeds = (0..<20).map { _ in Array(Schema.random(using: &random).text.utf8) }
    seeds += Corpus.schemas.prefix(4).map { Array($0.text.utf8.prefix(3_000)) }
    let pieces = [
      "\"", "(", ")", ",", ";", "<", ">", "/*", "*/", "//", "--", "\n", "\r", "\u{0}", "é", "GRANT ", "RECORD TYPE ",
      "CREATE ROLE ", "LIST<", "NUMBER PREFERRED AS ", "QUERYABLE", " TO ", "_", ".", "ENCRYPTED ", "preferred STRING",
    ]
    var understood = 0
    var round = -1
    while duration.map({ ContinuousClock.now - start < $0 }) ?? (round < 4_000) {
      round += 1
      var bytes = seeds[round % seeds.count]
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        let place = Int.random(in: 0...bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.insert(contentsOf: pieces[Int.random(in: 0..<pieces.count, using: &random)].utf8, at: place)
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1..<20, using: &random)))
        case 2: if place < bytes.count { bytes[place] = UInt8.random(in: 0...255, using: &random) }
        default: bytes.removeSubrange(place...)
        }
      }
      do {
        let schema = try Schema(String(decoding: bytes, as: UTF8.self))
        understood += 1
        #expect((try? Schema(schema.text)) == schema, "seed \(seed), round \(round)")
      } catch {
        #expect(!error.diagnostics.isEmpty, "seed \(seed), round \(round)")
        #expect(
          error.diagnostics.map(\.position) == error.diagnostics.map(\.position).sorted(),
          "seed \(seed), round \(round)")
      }
    }
    if duration != nil { print("\(round) texts, \(understood) of them schemas") }
    #expect(understood > 50)
  }
}

// MARK: - Random schemas

extension SchemaDataType {
  static func random(using random: inout some RandomNumberGenerator) -> SchemaDataType {
    let isList = Bool.random(using: &random)
    let number = Int.random(in: 0..<12, using: &random)
    if number == 0 {
      let kinds: [NumberKind?] = [nil, .int64, .double]
      return SchemaDataType(.number(preferred: kinds[Int.random(in: 0..<3, using: &random)]), isList: isList)
    }
    let scalars = FieldType.Scalar.allCases
    let scalar = scalars[number % scalars.count]
    let isEncrypted = scalar != .asset && scalar != .reference && Int.random(in: 0..<4, using: &random) == 0
    return .value(scalar, isList: isList, isEncrypted: isEncrypted)
  }
}

extension Schema {
  /// A valid schema from a few names, so that two of them have much in common.
  static func random(using random: inout some RandomNumberGenerator) -> Schema {
    let roles = (["editor", "Boss", "grant"] as [RoleName]).filter { _ in Bool.random(using: &random) }
    var schema = Schema(roles: roles.shuffled(using: &random))
    for name in (["A", "My.Type", "type", "sortable"] as [RecordType]).shuffled(using: &random).prefix(3) {
      var type = SchemaRecordType(name)
      for field in (["a", "B_1", "grant", "list", "c", "queryable"] as [FieldName]).shuffled(using: &random) {
        guard Bool.random(using: &random) else { continue }
        let data = SchemaDataType.random(using: &random)
        let indexes = SchemaIndexes(rawValue: UInt8.random(in: 0..<8, using: &random))
        type.fields.append(SchemaField(field, data, indexes.intersection(data.allowedIndexes)))
      }
      if Bool.random(using: &random) {
        type.fields.append(SchemaField("___recordID", .value(.reference), .queryable))
      }
      for role in (RoleName.system + roles).shuffled(using: &random) where Bool.random(using: &random) {
        type.grants.append(SchemaGrant(SchemaRights(rawValue: UInt8.random(in: 1..<8, using: &random)), to: role))
      }
      schema.recordTypes.append(type)
    }
    return schema
  }
}
