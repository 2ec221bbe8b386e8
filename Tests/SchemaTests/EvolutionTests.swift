import Testing
import VirgaModel
import VirgaSchema

@Suite struct EvolutionTests {
  private static let old = """
    CREATE ROLE boss;
    RECORD TYPE Note (title STRING QUERYABLE, body STRING, count NUMBER, photo BYTES, GRANT READ TO "_world");
    """

  private func evolution(_ old: String = Self.old, to new: String) throws -> SchemaEvolution {
    SchemaEvolution(from: try Schema("DEFINE SCHEMA " + old), to: try Schema("DEFINE SCHEMA " + new))
  }

  @Test func additionsDroppedIndexesAndOtherGrantsAreAllowed() throws {
    let evolution = try evolution(
      to: """
        CREATE ROLE boss; CREATE ROLE editor;
        RECORD TYPE Note (
          title STRING SORTABLE, body STRING, count NUMBER PREFERRED AS INT64, photo BYTES, place LOCATION QUERYABLE,
          "___createTime" TIMESTAMP SORTABLE, GRANT WRITE TO editor
        );
        RECORD TYPE Page (number INT64);
        """)
    #expect(evolution.refusals == [])
    #expect(
      evolution.changes.map(\.text) == [
        "+ role editor",
        "+ index Note.___createTime SORTABLE",
        "~ field Note.count: NUMBER becomes NUMBER PREFERRED AS INT64",
        "+ field Note.place LOCATION QUERYABLE",
        "- index Note.title QUERYABLE", "+ index Note.title SORTABLE",
        "- grant Note: READ to _world", "+ grant Note: WRITE to editor",
        "+ type Page (number)",
      ])
  }

  /// C57: removed types, renamed fields and changed types are refused, each by name.
  @Test(arguments: [
    ("CREATE ROLE boss;", ["Note"], "production keeps record type 'Note'"),
    (
      "RECORD TYPE Note (title STRING, body STRING, count NUMBER, photo BYTES);", ["boss"],
      "production keeps role 'boss'"
    ),
    (
      "CREATE ROLE boss; RECORD TYPE Note (heading ASSET, body STRING, count NUMBER, photo BYTES);", ["Note.title"],
      "production keeps field 'title' of type 'Note': a deployed field is never removed"
    ),
    (
      "CREATE ROLE boss; RECORD TYPE Note (heading STRING, body STRING, count NUMBER, photo BYTES);", ["Note.title"],
      "never removed or renamed ('heading' would be another field)"
    ),
    (
      "CREATE ROLE boss; RECORD TYPE Note (title STRING, body ENCRYPTED STRING, count NUMBER, photo ASSET);",
      ["Note.body", "Note.photo"],
      "field 'body' of type 'Note' is STRING in production and cannot become ENCRYPTED STRING"
    ),
    (
      "CREATE ROLE boss; RECORD TYPE Note (title LIST<STRING>, body STRING, count INT64, photo BYTES);",
      ["Note.count", "Note.title"], "field 'count' of type 'Note' is NUMBER in production and cannot become INT64"
    ),
  ])
  func whatWouldLoseDataIsRefusedWithItsReason(new: String, subjects: [String], reason: String) throws {
    let evolution = try evolution(to: new)
    #expect(evolution.refusals.map(\.change.subject) == subjects)
    #expect(evolution.refusals.first?.reason.contains(reason) == true, "\(evolution.refusals)")
  }

  @Test func theKindOfNumbersIsSettledOnce() throws {
    let settled = "RECORD TYPE T (n NUMBER PREFERRED AS INT64);"
    #expect(try evolution("RECORD TYPE T (n NUMBER);", to: settled).isAllowed)
    #expect(try !evolution(settled, to: "RECORD TYPE T (n NUMBER);").isAllowed)
    #expect(try !evolution(settled, to: "RECORD TYPE T (n NUMBER PREFERRED AS DOUBLE);").isAllowed)
    #expect(try !evolution("RECORD TYPE T (n LIST<NUMBER>);", to: settled).isAllowed)
  }

  @Test func whatIsLeftUnsaidIsNoDifference() throws {
    let evolution = try evolution(
      "RECORD TYPE T (a STRING, b INT64, GRANT READ, WRITE TO \"_world\");",
      to: """
        RECORD TYPE Users (roles LIST<INT64>, GRANT READ TO "_world", GRANT WRITE TO "_creator");
        RECORD TYPE T (b INT64, "___etag" STRING, a STRING, GRANT WRITE TO "_world", GRANT READ TO "_world");
        """)
    #expect(evolution.changes == [])
  }
}
