import Testing
import VirgaModel
import VirgaSchema

/// The type of share records in files, and its fields, whose names hold a dot (C124).
@Suite struct ShareTypeTests {
  private static let exported = """
    DEFINE SCHEMA

        RECORD TYPE "cloudkit.share" (
            "___createTime"               TIMESTAMP,
            "___createdBy"                REFERENCE,
            "___etag"                     STRING,
            "___modTime"                  TIMESTAMP,
            "___modifiedBy"               REFERENCE,
            "___recordID"                 REFERENCE,
            "cloudkit.thumbnailImageData" BYTES,
            "cloudkit.title"              STRING,
            "cloudkit.type"               STRING,
            GRANT WRITE TO "_creator",
            GRANT READ TO "_world"
        );

    """

  @Test func anExportedShareTypeIsReadAndPrintedAsItWas() throws {
    let schema = try Schema(Self.exported)
    #expect(schema.text == Self.exported)
    #expect(schema.completed()[.share] == Schema.sharesType.completed())
  }

  /// Files written by hand leave out what the service adds.
  @Test(arguments: [
    #"RECORD TYPE "cloudkit.share" ();"#,
    #"RECORD TYPE "cloudkit.share" ("___recordID" REFERENCE QUERYABLE, "cloudkit.title" STRING, note STRING);"#,
    #"RECORD TYPE "cloudkit.share" ("cloudkit.title" STRING, "cloudkit.type" STRING, "cloudkit.thumbnailImageData" BYTES);"#,
  ])
  func whatIsLeftOutOfItIsAdded(statement: String) throws {
    let schema = try Schema("DEFINE SCHEMA \(statement)")
    #expect(schema.problems().isEmpty)
    let shares = try #require(schema.completed()[.share])
    for field in SystemFields.all + SystemFields.ofShares { #expect(shares[field.name]?.type == field.type) }
    #expect(schema.changes(to: schema.completed()).isEmpty)
  }

  @Test(arguments: [
    (#"RECORD TYPE "cloudkit.share" ("cloudkit.title" INT64);"#, "'cloudkit.title' is STRING and cannot be INT64"),
    (
      #"RECORD TYPE "cloudkit.share" ("cloudkit.thumbnailImageData" ASSET);"#,
      "'cloudkit.thumbnailImageData' is BYTES and cannot be ASSET"
    ),
    (#"RECORD TYPE "cloudkit.share" ("cloudkit.other" STRING);"#, "field name 'cloudkit.other'"),
    (#"RECORD TYPE "cloudkit.share" ("my.field" STRING);"#, "field name 'my.field'"),
    (#"RECORD TYPE T ("my.field" STRING);"#, "field name 'my.field'"),
    (#"RECORD TYPE T ("cloudkit.title" STRING);"#, "field name 'cloudkit.title'"),
    (#"RECORD TYPE "cloudkit.shares" ();"#, "record type 'cloudkit.shares' is reserved"),
    (#"RECORD TYPE "CloudKit.Share" ();"#, "record type 'CloudKit.Share' is reserved"),
  ])
  func otherNamesWithADotAreRefusedAsBefore(statement: String, message: String) throws {
    let error = #expect(throws: SchemaErrors.self) { try Schema("DEFINE SCHEMA \(statement)") }
    let texts = error?.diagnostics.map(\.message) ?? []
    #expect(texts.count == 1 && texts[0].contains(message), "\(texts)")
  }

  @Test func withoutQuotesItIsASyntaxErrorThatNamesThem() throws {
    let error = #expect(throws: SchemaErrors.self) {
      try Schema("DEFINE SCHEMA RECORD TYPE cloudkit.share (cloudkit.title STRING);")
    }
    let texts = error?.diagnostics.map(\.message) ?? []
    #expect(texts.count == 2)
    #expect(texts.first?.contains(#"has a dot needs quotes: "cloudkit.share""#) == true, "\(texts)")
  }
}
