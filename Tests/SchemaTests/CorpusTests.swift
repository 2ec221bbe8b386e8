import Testing
import VirgaModel
import VirgaSchema

@Suite(.enabled(if: !Corpus.schemas.isEmpty, "there is no corpus of schemas")) struct CorpusTests {
  /// Files that were written by hand; the others have the layout of exports.
  private static let handWritten = [
    "brightdigit__MistKit/", "robbiet480__Dispatch/moderation", "robbiet480__Dispatch/history",
    "vfilby__liftmark/cloudkit-schema.ckdb",
  ]

  @Test(arguments: Corpus.schemas)
  func everyFileIsValidAndMeansTheSameOncePrinted(file: Corpus.File) throws {
    let schema = try Schema(file.text)
    #expect(try Schema(schema.text) == schema)
    #expect(try Schema(schema.text).text == schema.text)
    let completed = schema.completed()
    #expect(try Schema(completed.text) == completed)
    #expect(completed.completed() == completed)
    #expect(schema.changes(to: completed).isEmpty)
  }

  @Test(arguments: Corpus.schemas.filter { file in !handWritten.contains { file.name.hasPrefix($0) } })
  func exportedFilesArePrintedByteForByte(file: Corpus.File) throws {
    let text = try Schema(file.text).text
    // Some files end with an empty line.
    #expect(text == file.text || text + "\n" == file.text)
  }

  @Test func exportsListTheirFieldsAsACompletedSchemaDoes() throws {
    for name in ["apple__sample-cloudkit-tooling/coins_v1.ckdb", "martinkearn__wiggle-room/schema.ckdb"] {
      let text = try #require(Corpus.text(name))
      #expect(try Schema(text).completed().text.split(separator: "\n") == text.split(separator: "\n"))
    }
  }

  @Test func rolesAndTheirGrantsAreRead() throws {
    let schema = try Schema(#require(Corpus.text("robbiet480__Dispatch/app-schema.ckdb")))
    #expect(schema.roles == ["moderator"])
    let question = try #require(schema["CatalogQuestion"])
    #expect(question.rights(of: "moderator") == [.create, .write])
    #expect(question.rights(of: .world) == .read)
    #expect(question.rights(of: .icloud) == [])
    #expect(question["tags"]?.type == .value(.string, isList: true))
    #expect(schema["Users"]?["roles"]?.type.name == "LIST<INT64>")
  }

  // MARK: Differences

  private func evolution(_ old: String, _ new: String) throws -> SchemaEvolution {
    SchemaEvolution(from: try Schema(#require(Corpus.text(old))), to: try Schema(#require(Corpus.text(new))))
  }

  @Test func addedTypesAreOneChangeEach() throws {
    let folder = "apple__sample-cloudkit-tooling/"
    let coins = try evolution(folder + "coins_v1.ckdb", folder + "coins_v2.ckdb")
    #expect(coins.changes.map(\.text) == ["+ type Countries (countryCode, name)"])
    #expect(coins.isAllowed)
    let back = try evolution(folder + "coins_v2.ckdb", folder + "coins_v1.ckdb")
    #expect(
      back.refusals.map(\.reason) == [
        "production keeps record type 'Countries': a deployed type is never removed"
      ])
  }

  @Test func addedFieldsAndIndexesAreAllowed() throws {
    let bushel = try evolution(
      "brightdigit__MistKit/history/Bushel-2025-11-27.ckdb", "brightdigit__MistKit/BushelCloud.ckdb")
    #expect(bushel.changes.map(\.text) == ["+ field RestoreImage.sourceUpdatedAt TIMESTAMP QUERYABLE SORTABLE"])
    #expect(bushel.isAllowed)
  }

  @Test func theStepsOfAnAppsSchemaOnlyAdd() throws {
    let folder = "vfilby__liftmark/"
    let march = try evolution(
      folder + "history/cloudkit-schema-2026-03-01.ckdb", folder + "history/cloudkit-schema-2026-03-29.ckdb")
    #expect(march.isAllowed)
    #expect(
      march.changes.map(\.text) == [
        "+ field PlannedExercise.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        "+ field PlannedSet.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        "+ field SessionExercise.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        "+ field SessionSet.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        "+ field UserSettings.countdownSoundsEnabled INT64 QUERYABLE SORTABLE",
        "+ field WorkoutSession.updatedAt TIMESTAMP QUERYABLE SORTABLE",
      ])
    let current = try evolution(folder + "history/cloudkit-schema-2026-03-29.ckdb", folder + "cloudkit-schema.ckdb")
    #expect(current.isAllowed)
    #expect(
      current.changes.map(\.subject) == [
        "PlannedSet.targetDistance", "PlannedSet.targetDistanceUnit", "SessionSet.actualDistance",
        "SessionSet.actualDistanceUnit", "SessionSet.isAmrap", "SessionSet.side", "SessionSet.targetDistance",
        "SessionSet.targetDistanceUnit", "SetMeasurement",
      ])
  }

  @Test func aRewrittenSchemaIsRefusedFieldByField() throws {
    let celestra = try evolution(
      "brightdigit__MistKit/history/Celestra-2025-11-27.ckdb", "brightdigit__MistKit/CelestraCloud.ckdb")
    #expect(celestra.changes.count == 43)
    #expect(
      celestra.refusals.map(\.change.subject) == [
        "Article.description", "Article.expiresAt", "Article.feed", "Article.fetchedAt", "Article.link",
        "Article.pubDate", "Feed.lastAttempted", "Feed.usageCount",
      ])
  }

  @Test func gridsOfColumnsAreComparedByName() throws {
    let folder = "kasianov-mikhail__scout/"
    let second = try evolution(folder + "Schema-first.ckdb", folder + "Schema-2.ckdb")
    #expect(second.isAllowed)
    #expect(
      second.changes.map(\.text) == [
        "+ field Event.launch_id STRING QUERYABLE SEARCHABLE SORTABLE",
        "+ type Session (end_date, hour, launch_id, session_id, start_date, user_id, version, week)",
      ])
    let crash = try evolution(folder + "Schema-2.ckdb", folder + "Schema-crash.ckdb")
    #expect(crash.isAllowed)
    #expect(
      crash.changes.map(\.subject) == [
        "Crash", "DateDoubleMatrix", "DateIntMatrix.___recordID", "DateIntMatrix.category", "Event.day", "Event.month",
        "PeriodMatrix", "Session.day", "Session.month",
      ])
    #expect(crash.changes[1].text.hasSuffix(" more fields)"))
  }
}
