import Testing
import VirgaModel
import VirgaSchema

@Suite struct DiagnosticTests {
  private func diagnostics(_ text: String) -> [SchemaDiagnostic] {
    do {
      _ = try Schema(text)
      return []
    } catch {
      return error.diagnostics
    }
  }

  private func lines(_ text: String) -> [String] {
    diagnostics(text).map { "\($0.position.line):\($0.position.column) \($0.message)" }
  }

  @Test func unknownTypeIsToldInTheShapeOfTheOtherTool() {
    let text =
      "DEFINE SCHEMA\n\n    RECORD TYPE T (\n        a STRING,\n        b INT64,\n        broken          "
      + "BADTYPE,\n        c STRING\n    );\n"
    #expect(
      lines(text) == [
        """
        6:25 Encountered " <IDENTIFIER> "BADTYPE "" at line 6, column 25.
        Was expecting one of:
            "ASSET" ...
            "BYTES" ...
            "DOUBLE" ...
            "ENCRYPTED" ...
            "INT64" ...
            "LIST" ...
            "LOCATION" ...
            "NUMBER" ...
            "REFERENCE" ...
            "STRING" ...
            "TIMESTAMP" ...
        """
      ])
  }

  struct Mistake: Sendable, CustomTestStringConvertible {
    /// Goes behind `DEFINE SCHEMA `.
    var text: String
    var column: Int
    var encountered: String
    var expected: [String]
    var testDescription: String { text }
  }

  @Test(arguments: [
    Mistake(
      text: "X", column: 15, encountered: "\" <IDENTIFIER> \"X \"\"", expected: ["\"CREATE\"", "\"RECORD\"", "<EOF>"]),
    Mistake(text: "RECORD T (", column: 22, encountered: "\" <IDENTIFIER> \"T \"\"", expected: ["\"TYPE\""]),
    Mistake(text: "RECORD TYPE (", column: 27, encountered: "\" \"(\" \"( \"\"", expected: ["<IDENTIFIER>"]),
    Mistake(text: "RECORD TYPE T;", column: 28, encountered: "\" \";\" \"; \"\"", expected: ["\"(\""]),
    Mistake(text: "RECORD TYPE T (a STRING)", column: 39, encountered: "\"<EOF>\"", expected: ["\";\""]),
    Mistake(
      text: "RECORD TYPE T (a STRING,);", column: 39, encountered: "\" \")\" \") \"\"",
      expected: ["\"GRANT\"", "<IDENTIFIER>"]),
    Mistake(
      text: "RECORD TYPE T (a STRING;", column: 38, encountered: "\" \";\" \"; \"\"",
      expected: ["\"QUERYABLE\"", "\"SEARCHABLE\"", "\"SORTABLE\"", "\",\"", "\")\""]),
    Mistake(
      text: "RECORD TYPE T (a STRING QUERYABLE b INT64);", column: 49, encountered: "\" <IDENTIFIER> \"b \"\"",
      expected: ["\"SEARCHABLE\"", "\"SORTABLE\"", "\",\"", "\")\""]),
    Mistake(
      text: "RECORD TYPE T (a ENCRYPTED ASSET);", column: 42, encountered: "\" \"ASSET\" \"ASSET \"\"",
      expected: ["\"BYTES\"", "\"DOUBLE\"", "\"INT64\"", "\"LOCATION\"", "\"STRING\"", "\"TIMESTAMP\""]),
    Mistake(
      text: "RECORD TYPE T (a NUMBER PREFERRED INT64);", column: 49, encountered: "\" \"INT64\" \"INT64 \"\"",
      expected: ["\"AS\""]),
    Mistake(
      text: "RECORD TYPE T (a NUMBER PREFERRED AS STRING);", column: 52, encountered: "\" \"STRING\" \"STRING \"\"",
      expected: ["\"DOUBLE\"", "\"INT64\""]),
    Mistake(
      text: "RECORD TYPE T (a LIST STRING);", column: 37, encountered: "\" \"STRING\" \"STRING \"\"",
      expected: ["\"<\""]),
    Mistake(text: "RECORD TYPE T (a LIST<STRING);", column: 43, encountered: "\" \")\" \") \"\"", expected: ["\">\""]),
    Mistake(
      text: "RECORD TYPE T (GRANT TO \"_world\");", column: 36, encountered: "\" \"TO\" \"TO \"\"",
      expected: ["\"READ\"", "\"CREATE\"", "\"WRITE\""]),
    Mistake(
      text: "RECORD TYPE T (GRANT READ WRITE TO x);", column: 41, encountered: "\" \"WRITE\" \"WRITE \"\"",
      expected: ["\",\"", "\"TO\""]),
    Mistake(
      text: "RECORD TYPE T (queryable STRING);", column: 30, encountered: "\" \"QUERYABLE\" \"queryable \"\"",
      expected: ["\"GRANT\"", "<IDENTIFIER>"]),
    Mistake(text: "CREATE ROLE;", column: 26, encountered: "\" \";\" \"; \"\"", expected: ["<IDENTIFIER>"]),
  ])
  func syntaxErrorsSayWhereAndWhatWasExpected(mistake: Mistake) {
    let found = diagnostics("DEFINE SCHEMA " + mistake.text)
    #expect(found.count == 1)
    #expect(found.first?.position == SchemaPosition(line: 1, column: mistake.column))
    guard case .syntax(let encountered, let expected, _) = found.first?.kind else {
      Issue.record("\(found)")
      return
    }
    #expect(encountered == mistake.encountered)
    #expect(expected == mistake.expected)
  }

  @Test(arguments: [
    ("CREATE ROLE _x;", "1:13", "begins with an underscore needs quotes: \"_x\""),
    ("RECORD TYPE My.Type (a STRING);", "1:13", "has a dot needs quotes"),
    ("RECORD TYPE T (1a STRING);", "1:16", "does not begin with a letter"),
    ("RECORD TYPE T (\"a STRING);", "1:16", "does not end on its line"),
    ("RECORD TYPE T (\"\" STRING);", "1:16", "is not empty"),
    ("/* never", "1:1", "the comment does not end"),
    ("é RECORD TYPE T (a STRING); $", "1:29", "\"$\" (36)"),
  ])
  func charactersOutsideTheLanguageAreToldOnce(text: String, place: String, message: String) {
    let found = lines("DEFINE SCHEMA\r\n" + text).filter { $0.contains(message) }
    #expect(found.count == 1)
    #expect(found.first?.hasPrefix("2" + place.dropFirst()) == true, "\(found)")
  }

  @Test(arguments: [
    ("CREATE ROLE \"_world\";", "1:13", "role '_world' is reserved"),
    ("CREATE ROLE a; CREATE ROLE a;", "1:28", "role 'a' is created twice"),
    ("RECORD TYPE T (); RECORD TYPE T ();", "1:31", "record type 'T' is defined twice"),
    ("RECORD TYPE \"cloudkit.other\" ();", "1:13", "record type 'cloudkit.other' is reserved"),
    ("RECORD TYPE \"a b\" ();", "1:13", "has a character that is not allowed there"),
    ("RECORD TYPE T (a STRING, a STRING);", "1:26", "field 'a' of type 'T' is defined twice"),
    ("RECORD TYPE T (\"_a\" STRING);", "1:16", "does not begin with an ASCII letter"),
    ("RECORD TYPE T (\"___a\" STRING);", "1:16", "there is no system field '___a'"),
    ("RECORD TYPE T (\"___etag\" INT64);", "1:16", "the type of system field '___etag' is STRING and cannot be INT64"),
    ("RECORD TYPE Users (roles STRING);", "1:20", "is LIST<INT64> and cannot be STRING"),
    ("RECORD TYPE T (GRANT READ TO boss);", "1:16", "this schema does not create role 'boss'"),
    ("RECORD TYPE T (a STRING QUERYABLE QUERYABLE);", "1:35", "QUERYABLE is given twice for field 'a'"),
    ("RECORD TYPE T (GRANT READ, READ TO \"_world\");", "1:28", "READ is granted twice"),
    ("RECORD TYPE T (a ASSET QUERYABLE);", "1:16", "field 'a' of type 'T' cannot be QUERYABLE: its type is ASSET"),
    ("RECORD TYPE T (a BYTES SEARCHABLE);", "1:16", "cannot be SEARCHABLE"),
    ("RECORD TYPE T (a ENCRYPTED STRING QUERYABLE);", "1:16", "its type is ENCRYPTED STRING"),
    ("RECORD TYPE T (a LIST<INT64> SORTABLE);", "1:16", "its type is LIST<INT64>"),
    ("RECORD TYPE T (a LOCATION SEARCHABLE);", "1:16", "its type is LOCATION"),
    ("RECORD TYPE T (a REFERENCE SORTABLE);", "1:16", "its type is REFERENCE"),
    ("RECORD TYPE T (a NUMBER SEARCHABLE);", "1:16", "its type is NUMBER"),
  ])
  func whatMayNotBeSaidIsToldWithItsPlace(text: String, place: String, message: String) {
    let found = lines("DEFINE SCHEMA\n" + text)
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.contains(message) == true, "\(found)")
    #expect(found.first?.hasPrefix("2" + place.dropFirst() + " ") == true, "\(found)")
  }

  @Test func severalMistakesAreToldAtOnce() {
    let text = """
      DEFINE SCHEMA
      CREATE TABLE x;
      RECORD TYPE A (
        a INT,
        b STRING
        c INT64,
        d LIST<STRING,
        e DOUBLE,,
        GRANT READ TO
      )
      RECORD TYPE B (
        f BOOL SORTABLE,
        GRANT EXECUTE TO "_world",
        g STRING
      );
      """
    #expect(
      diagnostics(text).map { "\($0.position.line):\($0.position.column)" } == [
        "2:8", "4:5", "6:3", "7:16", "8:12", "10:1", "11:1", "12:5", "13:9",
      ])
    #expect(lines(text)[1].hasSuffix("\nThe type for this is INT64."))
  }

  @Test func everyDiagnosticCountsUpToALimit() {
    let text =
      "DEFINE SCHEMA " + String(repeating: "RECORD TYPE T (a BAD);", count: 500) + String(repeating: "$", count: 500)
    #expect(diagnostics(text).count == Limits.schemaDiagnosticsMax)
  }

  @Test(arguments: [-1, 0, 1])
  func typesAndFieldsHaveLimits(beyond: Int) throws {
    func messages(_ schema: Schema) -> [String] { schema.problems().map(\.message) }
    let fields = (0..<Limits.fieldsPerRecordTypeMax + beyond).map { SchemaField(FieldName("f\($0)"), .value(.string)) }
    let wide = Schema(recordTypes: [SchemaRecordType("T", fields: fields)]).completed()
    #expect(messages(wide) == (beyond > 0 ? ["record type 'T' has more than 2000 fields"] : []))
    let types = (0..<Limits.recordTypesPerSchemaMax + beyond).map { SchemaRecordType(RecordType("T\($0)")) }
    let long = Schema(recordTypes: types).completed()
    #expect(messages(long) == (beyond > 0 ? ["a schema has at most 2000 record types"] : []))
  }

  @Test(arguments: [("", 1, 1), ("RECORD TYPE T ();", 1, 1), ("DEFINE\n  TABLE", 2, 3), ("\u{feff}DEFINE x", 1, 8)])
  func aTextThatIsNoSchemaIsRefusedAtItsBeginning(text: String, line: Int, column: Int) {
    #expect(diagnostics(text).first?.position == SchemaPosition(line: line, column: column))
  }
}
