import Testing
import VirgaModel
import VirgaSchema

/// Whole schemas, as exports and hands have written them.
@Suite struct CorpusTests {
  /// Files that were written by hand; the others have the layout of exports.
  private static let handWritten = [
    "own/garden", "own/rewritten", "brightdigit__MistKit/", "robbiet480__Dispatch/moderation",
    "robbiet480__Dispatch/history", "vfilby__liftmark/cloudkit-schema.ckdb",
  ]

  @Test func ourOwnFilesAreThere() { #expect(Corpus.own.count == 10) }

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

  @Test(
    arguments: Corpus.cases(
      own: ["own/library-1.ckdb", "own/steps-3.ckdb", "own/grid-2.ckdb"],
      others: ["apple__sample-cloudkit-tooling/coins_v1.ckdb", "martinkearn__wiggle-room/schema.ckdb"]))
  func exportsListTheirFieldsAsACompletedSchemaDoes(name: String) throws {
    let text = try #require(Corpus.text(name))
    #expect(try Schema(text).completed().text.split(separator: "\n") == text.split(separator: "\n"))
  }

  @Test(
    arguments: Corpus.cases(
      own: [("own/garden.ckdb", "Bed" as RecordType, "gardener" as RoleName)],
      others: [("robbiet480__Dispatch/app-schema.ckdb", "CatalogQuestion", "moderator")]))
  func rolesAndTheirGrantsAreRead(name: String, type: RecordType, role: RoleName) throws {
    let schema = try Schema(#require(Corpus.text(name)))
    #expect(schema.roles == [role])
    let question = try #require(schema[type])
    #expect(question.rights(of: role) == [.create, .write])
    #expect(question.rights(of: .world) == .read)
    #expect(question.rights(of: .icloud) == [])
    #expect(question["tags"]?.type == .value(.string, isList: true))
    #expect(schema["Users"]?["roles"]?.type.name == "LIST<INT64>")
  }

  // MARK: Differences

  /// From one file to another: what changes, and what of that is refused.
  struct Step: CustomTestStringConvertible {
    var old: String
    var new: String
    /// Each change in words, or only what it is about.
    var changes: [String] = []
    var subjects: [String]?
    var refused: [String] = []
    var reasons: [String]?
    var testDescription: String { "\(old) to \(new)" }
  }

  private static let celestra = Step(
    old: "brightdigit__MistKit/history/Celestra-2025-11-27.ckdb", new: "brightdigit__MistKit/CelestraCloud.ckdb",
    refused: [
      "Article.description", "Article.expiresAt", "Article.feed", "Article.fetchedAt", "Article.link",
      "Article.pubDate", "Feed.lastAttempted", "Feed.usageCount",
    ])

  static let steps = Corpus.cases(
    own: [
      Step(old: "own/library-1.ckdb", new: "own/library-2.ckdb", changes: ["+ type Shelves (label, room)"]),
      Step(
        old: "own/library-2.ckdb", new: "own/library-1.ckdb", changes: ["- type Shelves"], refused: ["Shelves"],
        reasons: ["production keeps record type 'Shelves': a deployed type is never removed"]),
      Step(
        old: "own/steps-1.ckdb", new: "own/steps-2.ckdb",
        changes: [
          "+ field Walk.distance DOUBLE QUERYABLE SORTABLE", "+ field Walk.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        ]),
      Step(
        old: "own/steps-2.ckdb", new: "own/steps-3.ckdb",
        changes: ["+ type Lap (seconds, walk)", "+ field Walk.indoors INT64"]),
      Step(
        old: "own/rewritten-1.ckdb", new: "own/rewritten-2.ckdb",
        subjects: ["Recipe.minutes", "Recipe.photo", "Recipe.picture", "Recipe.title", "Shop"],
        refused: ["Recipe.minutes", "Recipe.photo", "Shop"]),
      Step(old: "own/grid-1.ckdb", new: "own/grid-2.ckdb", subjects: ["Day.month", "Grid"]),
    ],
    others: [
      Step(
        old: "apple__sample-cloudkit-tooling/coins_v1.ckdb", new: "apple__sample-cloudkit-tooling/coins_v2.ckdb",
        changes: ["+ type Countries (countryCode, name)"]),
      Step(
        old: "apple__sample-cloudkit-tooling/coins_v2.ckdb", new: "apple__sample-cloudkit-tooling/coins_v1.ckdb",
        subjects: ["Countries"], refused: ["Countries"],
        reasons: ["production keeps record type 'Countries': a deployed type is never removed"]),
      Step(
        old: "brightdigit__MistKit/history/Bushel-2025-11-27.ckdb", new: "brightdigit__MistKit/BushelCloud.ckdb",
        changes: ["+ field RestoreImage.sourceUpdatedAt TIMESTAMP QUERYABLE SORTABLE"]),
      Step(
        old: "vfilby__liftmark/history/cloudkit-schema-2026-03-01.ckdb",
        new: "vfilby__liftmark/history/cloudkit-schema-2026-03-29.ckdb",
        changes: [
          "+ field PlannedExercise.updatedAt TIMESTAMP QUERYABLE SORTABLE",
          "+ field PlannedSet.updatedAt TIMESTAMP QUERYABLE SORTABLE",
          "+ field SessionExercise.updatedAt TIMESTAMP QUERYABLE SORTABLE",
          "+ field SessionSet.updatedAt TIMESTAMP QUERYABLE SORTABLE",
          "+ field UserSettings.countdownSoundsEnabled INT64 QUERYABLE SORTABLE",
          "+ field WorkoutSession.updatedAt TIMESTAMP QUERYABLE SORTABLE",
        ]),
      Step(
        old: "vfilby__liftmark/history/cloudkit-schema-2026-03-29.ckdb",
        new: "vfilby__liftmark/cloudkit-schema.ckdb",
        subjects: [
          "PlannedSet.targetDistance", "PlannedSet.targetDistanceUnit", "SessionSet.actualDistance",
          "SessionSet.actualDistanceUnit", "SessionSet.isAmrap", "SessionSet.side", "SessionSet.targetDistance",
          "SessionSet.targetDistanceUnit", "SetMeasurement",
        ]),
      celestra,
      Step(
        old: "kasianov-mikhail__scout/Schema-first.ckdb", new: "kasianov-mikhail__scout/Schema-2.ckdb",
        changes: [
          "+ field Event.launch_id STRING QUERYABLE SEARCHABLE SORTABLE",
          "+ type Session (end_date, hour, launch_id, session_id, start_date, user_id, version, week)",
        ]),
      Step(
        old: "kasianov-mikhail__scout/Schema-2.ckdb", new: "kasianov-mikhail__scout/Schema-crash.ckdb",
        subjects: [
          "Crash", "DateDoubleMatrix", "DateIntMatrix.___recordID", "DateIntMatrix.category", "Event.day",
          "Event.month",
          "PeriodMatrix", "Session.day", "Session.month",
        ]),
    ])

  private func evolution(_ step: Step) throws -> SchemaEvolution {
    SchemaEvolution(from: try Schema(#require(Corpus.text(step.old))), to: try Schema(#require(Corpus.text(step.new))))
  }

  @Test(arguments: steps) func aStepChangesWhatItSaysAndOnlyAddingIsAllowed(step: Step) throws {
    let evolution = try evolution(step)
    if !step.changes.isEmpty { #expect(evolution.changes.map(\.text) == step.changes) }
    if let subjects = step.subjects { #expect(Set(evolution.changes.map(\.subject)) == Set(subjects)) }
    #expect(evolution.refusals.map(\.change.subject) == step.refused)
    #expect(evolution.isAllowed == step.refused.isEmpty)
    if let reasons = step.reasons { #expect(evolution.refusals.map(\.reason) == reasons) }
    if step.old == Self.celestra.old { #expect(evolution.changes.count == 43) }
  }

  /// A type with many fields is told by the first of them.
  @Test(
    arguments: Corpus.cases(
      own: [Step(old: "own/grid-1.ckdb", new: "own/grid-2.ckdb")],
      others: [
        Step(old: "kasianov-mikhail__scout/Schema-2.ckdb", new: "kasianov-mikhail__scout/Schema-crash.ckdb")
      ]))
  func manyFieldsAreCounted(step: Step) throws {
    let evolution = try evolution(step)
    #expect(evolution.changes[1].text.hasSuffix(" more fields)"))
  }
}
