import Foundation
import Testing

@testable import LanternlyCore

struct DayOneExportTests {
  private let folder = TemporaryFolder()

  private func open(_ name: String, limits: ArchiveReader.Limits = .init()) throws -> ReadExport {
    try ReadExport("\(folder.path)/\(name)", scratch: "\(folder.path)/\(UUID().uuidString)", limits: limits)
  }

  /// C97: nothing but a date is needed.
  @Test func entriesWithMissingKeysAreImported() throws {
    try folder.write(
      #"""
      {"metadata": {}, "entries": [
        {"uuid": "A1", "creationDate": "2020-01-01T10:00:00Z", "text": "one"},
        {"uuid": "A2", "creationDate": "2020-01-02T10:00:00Z"},
        {"uuid": "A3", "creationDate": "2020-01-03T10:00:00Z", "text": "three", "unknown": [1, {}]}
      ]}
      """#, to: "j.json")
    let export = try open("j.json")
    #expect(export.entries.map(\.entry.text) == ["one", "", "three"])
    #expect(export.notes == [.entryHasNoText(entry: "A2")])
    #expect(export.entries[0].entry.modified == Moment(iso8601: "2020-01-01T10:00:00Z"))
    #expect(export.entries[0].entry.written.zone == "GMT")
  }

  @Test func oddEntriesAreSkippedAndTheRestIsRead() throws {
    try folder.write(
      #"""
      {"entries": [7, {}, {"uuid": "A1", "text": "no date"}, {"uuid": "A2", "creationDate": "soon"},
        {"uuid": "A3", "creationDate": "2020-01-03T10:00:00Z", "text": "good", "tags": ["a ", "", 5], "photos": "none",
         "timeZone": "Mars/Olympus", "location": 3, "starred": 1},
        {"uuid": "A3", "creationDate": "2020-01-03T10:00:00Z", "text": "again"}]}
      """#, to: "j.json")
    let export = try open("j.json")
    #expect(export.entries.map(\.entry.text) == ["good"])
    #expect(export.entries[0].entry.tagNames == ["a"])
    #expect(export.entries[0].entry.isStarred)
    #expect(
      export.notes == [
        .entryIsNoObject(file: "j.json", position: 1), .entryHasNoDate(entry: "2 (j.json)"),
        .entryHasNoDate(entry: "A1"), .dateIsUnreadable(entry: "A2"),
        .valueIsUnreadable(entry: "A3", key: "tags"), .valueIsUnreadable(entry: "A3", key: "location"),
        .valueIsUnreadable(entry: "A3", key: "photos"), .zoneIsUnknown(entry: "A3", zone: "Mars/Olympus"),
        .entryAppearsTwice(entry: "A3"),
      ])
  }

  @Test func valuesThatCannotBeReadAreTold() throws {
    try folder.write(
      #"""
      {"entries": [
        {"creationDate": "2020-01-01T10:00:00Z", "text": "a", "starred": "yes", "weather": "sunny", "modifiedDate": 7,
         "location": {"latitude": 91, "longitude": 4, "country": 5}},
        {"creationDate": "2020-01-02T10:00:00Z", "text": "b", "weather": {"windBearing": "north"},
         "location": {"latitude": null, "longitude": null, "placeName": "(null)"}, "tags": null, "starred": 0}
      ]}
      """#, to: "j.json")
    func note(_ entry: String, _ key: String) -> ImportNote { .valueIsUnreadable(entry: entry, key: key) }
    let (first, second) = ("2020-01-01T10:00:00Z", "2020-01-02T10:00:00Z")
    #expect(
      try open("j.json").notes == [
        note(first, "modifiedDate"), note(first, "starred"), note(first, "weather"), note(first, "location.country"),
        note(first, "location.latitude, longitude"), note(second, "location.latitude, longitude"),
        note(second, "weather.windBearing"),
      ])
    try folder.write(
      """
      <?xml version="1.0"?><plist version="1.0"><dict><key>Creation Date</key><date>2013-05-17T18:39:20Z</date>
      <key>Entry Text</key><string>hello</string><key>UUID</key><string>A</string><key>Tags</key><string>x</string>
      <key>Location</key><dict><key>Latitude</key><real>1</real></dict></dict></plist>
      """, to: "A.doentry")
    #expect(try open("A.doentry").notes == [note("A", "Tags"), note("A", "Location.Latitude, Longitude")])
  }

  /// Of two with one name that modified last is taken, of equals the first, and that is what the note says.
  @Test func ofRepeatedEntriesTheLatestStays() throws {
    func entry(_ text: String, _ modified: Int) -> String {
      #"{"uuid": "A", "creationDate": "2020-01-01T10:00:00Z", "modifiedDate": "2020-01-0\#(modified)T11:00:00Z", "#
        + #""text": "\#(text)"}"#
    }
    for (entries, kept) in [
      ([entry("a", 1), entry("b", 1)], "a"), ([entry("a", 1), entry("b", 2)], "b"),
      ([entry("a", 2), entry("b", 1)], "a"),
    ] {
      try folder.write(#"{"entries": [\#(entries.joined(separator: ","))]}"#, to: "j.json")
      let export = try open("j.json")
      #expect(export.entries.map(\.entry.text) == [kept])
      #expect(export.notes == [.entryAppearsTwice(entry: "A")])
    }
  }

  @Test func mediaAreSortedAndFoundByTheirDigest() throws {
    try folder.write(
      #"""
      {"entries": [{"uuid": "A1", "creationDate": "2020-01-03T10:00:00Z",
        "text": "![](dayone-moment://P2) ![](dayone-moment://P1) ![](dayone-moment://P9)",
        "photos": [{"identifier": "P2", "md5": "b", "type": "png", "orderInEntry": 1},
                   {"identifier": "P1", "md5": "../../a", "type": "jpeg", "orderInEntry": 0}],
        "audios": [{"identifier": "S1", "md5": "c", "format": "aac", "title": "song.mp3"}]}]}
      """#, to: "x/j.json")
    try folder.write("photo b", to: "x/photos/b.png")
    try folder.write("sound", to: "x/audios/c.m4a")
    try folder.write("secret", to: "a")
    let export = try open("x")
    let entry = try #require(export.entries.first)
    let names = ["P1", "P2", "S1"].map { AttachmentID.imported(entry: entry.id, identifier: $0) }
    #expect(entry.media.map(\.id) == names)
    #expect(entry.media.map(\.order) == [0, 1, 2])
    #expect(entry.media.map { $0.path != nil } == [false, true, true])
    #expect(entry.media[2].fileName == "song.mp3")
    #expect(
      export.notes == [.mediaFileIsMissing(entry: "A1", media: "../../a"), .linkIsUnknown(entry: "A1", media: "P9")])
    #expect(!entry.entry.text.contains("dayone"))
  }

  @Test func textOfFormattingAloneIsRead() throws {
    let rich =
      #"{\"contents\":[{\"text\":\"Day\\n\",\"attributes\":{\"line\":{\"header\":1}}},{\"text\":\"a. b\\n\"},"#
      + #"{\"embeddedObjects\":[{\"type\":\"photo\",\"identifier\":\"P1\"}]}]}"#
    try folder.write(
      #"{"entries": [{"uuid": "A1", "creationDate": "2020-01-03T10:00:00Z", "richText": "\#(rich)"}]}"#, to: "j.json")
    let export = try open("j.json")
    let entry = try #require(export.entries.first)
    let name = AttachmentID.imported(entry: entry.id, identifier: "P1").name
    #expect(entry.entry.text == "# Day\na. b\n\n![](attachment:\(name))\n")
  }

  @Test func brokenFilesAreRefusedWhole() throws {
    try folder.write(#"{"entries": [{"uuid": "#, to: "bad/b.json")
    try folder.write(#"{"entries": []}"#, to: "bad/a.json")
    #expect(throws: ImportError.self) { try open("bad") }
    try folder.write(#"{"other": []}"#, to: "other.json")
    #expect(throws: ImportError.notAnExport("\(folder.path)/other.json")) { try open("other.json") }
    try folder.write("hello", to: "empty/readme.txt")
    #expect(throws: ImportError.notAnExport("\(folder.path)/empty")) { try open("empty") }
    #expect(throws: ImportError.notFound("\(folder.path)/nothing")) { try open("nothing") }
  }

  @Test func brokenPropertyListCostsOneEntry() throws {
    try folder.write("<plist><dict><key>UUID</key>", to: "J.dayone/entries/B.doentry")
    try folder.write(
      """
      <?xml version="1.0"?><plist version="1.0"><dict><key>Creation Date</key><date>2013-05-17T18:39:20Z</date>
      <key>Entry Text</key><string>hello</string><key>UUID</key><string>A</string></dict></plist>
      """, to: "J.dayone/entries/A.doentry")
    try folder.write("jpeg", to: "J.dayone/photos/A.jpg")
    let export = try open("J.dayone")
    #expect(export.entries.map(\.entry.text) == ["hello"])
    #expect(export.entries.first?.media.map(\.fileName) == ["A.jpg"])
    #expect(export.notes.count == 1 && export.notes.allSatisfy(\.isSkip))
  }

  @Test func archivesThatLeadOutsideAreRefused() throws {
    let script = """
      import sys, zipfile
      with zipfile.ZipFile(sys.argv[1], 'w', zipfile.ZIP_DEFLATED) as z:
          z.writestr('j.json', '{"entries": []}')
          if sys.argv[2] == 'bomb': z.writestr('photos/x', b'0' * (80 << 20))
          elif sys.argv[2] == 'link':
              info = zipfile.ZipInfo('photos/x'); info.create_system = 3; info.external_attr = 0o120777 << 16
              z.writestr(info, '/etc/passwd')
          else: z.writestr(sys.argv[2], 'x')
      """
    for name in ["../evil", "/evil", "photos/../../evil", "..\\\\evil", "link", "bomb"] {
      let archive = "\(folder.path)/\(UUID().uuidString).zip"
      guard try run("python3", ["-c", script, archive, name]) else { return }
      let scratch = "\(folder.path)/\(UUID().uuidString)/out"
      #expect(throws: ImportError.self, "\(name)") { try ReadExport(archive, scratch: scratch) }
      #expect(!FileManager.default.fileExists(atPath: scratch + "/../evil"))
    }
    var limits = ArchiveReader.Limits()
    limits.filesMax = 1
    let archive = "\(folder.path)/two.zip"
    guard try run("python3", ["-c", script, archive, "photos/a"]) else { return }
    #expect(throws: ImportError.tooLarge(file: archive)) {
      try ReadExport(archive, scratch: "\(folder.path)/s", limits: limits)
    }
    #expect(throws: ImportError.self) {
      let file = try folder.write(Data("PK\u{3}\u{4} but no archive".utf8), to: "broken.zip")
      return try ReadExport(file, scratch: "\(folder.path)/t")
    }
  }

  /// Names with the ZIP format's mark for UTF-8, whatever the machine's locale.
  @Test(arguments: ["Diario – España.json", "日記.json", "plain.json"]) func namesInAnArchiveMayBeOfAnyLanguage(
    name: String
  ) throws {
    let script = """
      import sys, zipfile
      with zipfile.ZipFile(sys.argv[1], 'w') as z:
          z.writestr(sys.argv[2], '{"entries": [{"uuid": "A", "creationDate": "2020-01-03T10:00:00Z", "text": "a"}]}')
      """
    let archive = "\(folder.path)/names.zip"
    guard try run("python3", ["-X", "utf8", "-c", script, archive, name]) else { return }
    let export = try ReadExport(archive, scratch: "\(folder.path)/names")
    #expect(export.entries.map(\.entry.text) == ["a"])
    #expect(FileManager.default.fileExists(atPath: "\(folder.path)/names/files/\(name)"))
  }

  /// False if the program is not there.
  private func run(_ program: String, _ arguments: [String]) throws -> Bool {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}

/// Whole exports: our own, and real ones where they are at hand.
@Suite struct DayOneCorpusTests {
  @Test(
    arguments: Corpus.cases(
      own: [
        ("own/Journal", 13, 25), ("own/Journal.zip", 13, 25), ("own/escaped-zones.json", 2, 0),
        ("own/Journal.dayone", 3, 1),
      ],
      real: [
        ("automattic/day-one-fictional.zip", 3, 1), ("automattic/day-one-fictional", 3, 1),
        ("robinshi918/sample_dayone_export.json", 2, 0), ("pkamppur/DayOne2JSONExport", 5, 2),
        ("kulapard/MyJournal.json", 1, 4), ("ergebnis/Example", 54, 132), ("ergebnis/Example.zip", 54, 132),
        ("bsingr/demo.json", 4, 1), ("jrnl/basic_dayone.dayone", 3, 0), ("jrnl/dayone.dayone", 4, 0),
      ]))
  func everyEntryAndMediaFileIsFound(name: String, entries: Int, media: Int) throws {
    let export = try Corpus.open(name)
    #expect(export.entries.count == entries)
    #expect(export.entries.flatMap(\.media).count == media)
    #expect(export.notes.filter(\.isSkip).isEmpty)
    // An archive is unpacked into a folder that the test removed again.
    #expect(export.entries.flatMap(\.media).allSatisfy { $0.path != nil })
    #expect(export.entries.allSatisfy { !$0.entry.text.contains("dayone-moment") })
    #expect(export.entries.allSatisfy { Zone.exists($0.entry.written.zone) })
  }

  @Test(
    arguments: Corpus.cases(
      own: ["own/not-json", "own/cut.json", "own/empty", "own/schema.json"],
      real: ["ergebnis/not-json", "kulapard/invalid.json", "kulapard", "ergebnis/day-one.schema.json"]))
  func whatIsNoJournalIsRefused(name: String) {
    #expect(throws: ImportError.self) { try Corpus.open(name) }
  }

  /// An entry of an export, and what it said there.
  struct Said: CustomTestStringConvertible {
    var export: String
    var entry: String
    var local: LocalTime?
    var tags: [String]
    var locality: String
    var celsius: Double
    var text: String
    var link: String
    var testDescription: String { export }
  }

  static let said = Corpus.cases(
    own: [
      Said(
        export: "own/Journal", entry: OwnExports.uuid(99),
        local: LocalTime(year: 2026, month: 11, day: 30, hour: 8, minute: 5, second: 9), tags: ["Rain", "harbour"],
        locality: "Zurich", celsius: 4, text: "It rained.\n\n![](attachment:",
        link: "](entry:\(OwnExports.uuid(4)))")
    ],
    real: [
      Said(
        export: "ergebnis/Example", entry: "2e542464666c4ace91e83539ff114a76",
        local: LocalTime(year: 2004, month: 10, day: 12, hour: 18, minute: 38, second: 16), tags: ["Pizza", "diary"],
        locality: "Alice Springs", celsius: 34, text: "no wonder she felt unhappy.\n\n![](attachment:",
        link: "](entry:ee9d6208b99a47faaf2f98e16d384cd0)")
    ])

  @Test(arguments: said) func entriesOfTheExampleSayWhatTheyDidThere(said: Said) throws {
    let export = try Corpus.open(said.export)
    let first = try #require(export.entries.first { $0.id.name == said.entry })
    #expect(first.entry.written.local == said.local)
    #expect(first.entry.tagNames == said.tags)
    #expect(first.entry.place?.locality == said.locality)
    #expect(first.entry.weather?.celsius == said.celsius)
    #expect(first.entry.text.contains(said.text))
    #expect(first.entry.text.contains(said.link))
    let unknown = export.notes.filter { if case .linkIsUnknown = $0 { true } else { false } }
    #expect(!unknown.isEmpty)
  }

  @Test(
    arguments: Corpus.cases(
      own: ["own/escaped-zones.json"], real: ["robinshi918/sample_dayone_export.json"]))
  func doubledEscapesOfAZoneAreUndone(name: String) throws {
    let export = try Corpus.open(name)
    #expect(export.entries.map(\.entry.written.zone) == ["Etc/GMT", "Etc/GMT"])
    #expect(export.notes.isEmpty)
  }

  @Test(arguments: Corpus.cases(own: ["own/Journal.dayone"], real: ["jrnl/dayone.dayone"]))
  func classicEntriesKeepTagsPlaceAndStar(name: String) throws {
    let export = try Corpus.open(name)
    #expect(export.entries.map(\.entry.tagNames).filter { !$0.isEmpty } == [["PLaY", "work"]])
    #expect(export.entries.compactMap(\.entry.place?.locality) == ["Berlin"])
    #expect(export.entries.filter(\.entry.isStarred).count == 1)
  }
}
