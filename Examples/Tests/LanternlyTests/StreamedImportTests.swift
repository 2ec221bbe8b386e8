import Foundation
import Testing

@testable import LanternlyCore

/// Exports of any length, with whatever is in them.
struct StreamedImportTests {
  let program = ProgramUnderTest()

  private func entry(_ uuid: String, _ more: String = #""text": "a""#) -> String {
    #"{"uuid": "\#(uuid)", "creationDate": "2020-01-03T10:00:00Z", \#(more)}"#
  }

  private func journal(_ entries: [String]) throws -> String {
    try program.folder.write(#"{"metadata": {}, "entries": [\#(entries.joined(separator: ","))]}"#, to: "x/j.json")
  }

  @Test func halfACharacterRefusesOneEntry() async throws {
    let path = try journal([
      entry("A"), entry("B", #""text": "broken \ud83d here""#), entry("C", #""text": "c", "tags": ["\udc68"]"#),
      entry("D", #""text": "d", "richText": "\ud83d", "unknown": "\ud83d""#),
      #"{"uuid": "\ud83d", "creationDate": "2020-01-04T10:00:00Z", "text": "e"}"#,
    ])
    let result = await program.run("import", path)
    #expect(result.code == 0)
    #expect(result.lines.first == "Imported: 2 entries, 0 attachments.")
    #expect(result.output.contains("entry B: its text has half of a character and is not text"))
    #expect(result.output.contains("entry C: its tags"))
    #expect(result.output.contains("Skipped: 3."))
    #expect(try program.store().entries().map(\.entry.text).sorted() == ["a", "d"])
  }

  @Test(arguments: ["Asia/Tokyo", "Pacific/Honolulu", "GMT"])
  func aDateWithoutATimeIsThatDay(zone: String) async throws {
    let path = try program.folder.write(
      #"{"entries": [{"uuid": "A", "creationDate": "2020-01-03", "timeZone": "\#(zone)", "text": "a"}]}"#, to: "j.json")
    #expect(await program.run("import", path).lines == ["Imported: 1 entry, 0 attachments."])
    let written = try #require(try program.store().entries().first).entry.written
    #expect(written.local == LocalTime(year: 2020, month: 1, day: 3, hour: 12))
  }

  @Test func numbersKeepAllTheirDigitsToTheOtherEnd() async throws {
    let (latitude, longitude) = (51.123456789012345, -0.12345678901234568)
    let path = try journal([
      entry("A", #""text": "a", "location": {"latitude": \#(latitude), "longitude": \#(longitude)}"#)
    ])
    await program.run("import", path)
    let place = try #require(try program.store().entries().first?.entry.place)
    #expect(place.latitude == latitude && place.longitude == longitude)
    let json = await program.run("list", "--json").output
    #expect(json.contains("\"latitude\" : \(latitude)"), "\(json)")
  }

  /// C141: what stands where there are no coordinates costs these alone.
  @Test(arguments: [
    (#""latitude": 1.7976931348623157e308, "longitude": 1.7976931348623157e308"#, false),
    (#""latitude": null, "longitude": null"#, false), (#""latitude": "51.5", "longitude": "north""#, false),
    (#""latitude": 51.5"#, false), (#""longitude": 4, "latitude": null"#, false),
    (#""latitude": 91, "longitude": 4"#, false), (#""latitude": 4, "longitude": -180.5"#, false),
    (#""latitude": {}, "longitude": {}"#, false), (#""latitude": 0, "longitude": 0"#, true),
  ]) func coordinatesThatAreNoneAreLeftOut(coordinates: String, isPlace: Bool) async throws {
    let path = try journal([
      entry("A", #""text": "a", "location": {\#(coordinates), "localityName": "Berlin"}"#), entry("B"),
    ])
    let result = await program.run("import", path)
    #expect(result.lines.first == "Imported: 2 entries, 0 attachments.")
    let warning = "entry A: its location.latitude, longitude cannot be read and was left out"
    #expect(result.output.contains(warning) == !isPlace, "\(result.output)")
    let places = try program.store().entries().compactMap(\.entry.place)
    #expect(places.map(\.locality) == ["Berlin"])
    #expect(places.map(\.latitude) == [isPlace ? 0 : nil] && places.map(\.longitude) == [isPlace ? 0 : nil])
  }

  // C141
  @Test func theServerTakesEntriesWhoseCoordinatesWereNone() throws {
    let fleet = try Fleet()
    let coordinates = [
      #""latitude": 1.7976931348623157e308, "longitude": 1.7976931348623157e308"#, #""latitude": null, "longitude": 4"#,
      #""latitude": "north", "longitude": 4"#, #""latitude": 4"#, #""latitude": 91, "longitude": 4"#,
      #""latitude": {}, "longitude": {}"#, #""latitude": 0, "longitude": 0"#,
    ]
    let entries = coordinates.enumerated().map { number, text in
      entry("A\(number)", #""text": "a\#(number)", "location": {\#(text), "localityName": "Berlin"}"#)
    }
    try fleet.lanternly("phone", "import", try journal(entries))
    let result = try fleet.lanternly("phone", "sync")
    #expect(result.code == 0 && result.output.contains("Sent 7"), "\(result.output)")
    try fleet.join("laptop", to: "phone")
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    let places = try fleet.store("laptop").entries().sorted { $0.entry.text < $1.entry.text }.map(\.entry.place)
    #expect(places.map { $0?.locality } == Array(repeating: "Berlin", count: 7))
    #expect(places.compactMap { $0?.latitude } == [0] && places.compactMap { $0?.longitude } == [0])
  }

  @Test func aPlaceOfNothingIsNone() async throws {
    await program.run("import", try journal([entry("A", #""text": "a", "location": {}"#)]))
    #expect(try program.store().entries().map(\.entry.place) == [nil])
  }

  @Test func attachmentsStandInTheOrderOfTheText() async throws {
    let text = #"![](dayone-moment://P3) ![](dayone-moment://P1) ![](dayone-moment://P9)"#
    let photos = (1...3).map { #"{"identifier": "P\#($0)", "md5": "m\#($0)", "type": "png"}"# }.joined(separator: ",")
    let path = try journal([entry("A", #""text": "\#(text)", "photos": [\#(photos)]"#)])
    for number in 1...3 { try program.folder.write("photo \(number)", to: "x/photos/m\(number).png") }
    let imported = await program.run("import", path)
    #expect(imported.output.contains("the text shows P9, which is not in the export"))
    let name = try program.name()
    let page = await program.run("show", name).output
    let lines = page.split(separator: "\n").filter { $0.contains(".png  photo") }.map { String($0.prefix(8)) }
    #expect(lines == ["  m3.png", "  m1.png", "  m2.png"])
    let json = await program.run("show", name, "--json").output
    let names = json.matches(of: /"fileName" : "(m\d)/).map { String($0.1) }
    #expect(names == ["m3", "m1", "m2"])
    #expect(await program.run("list", "--json").output.matches(of: /"fileName" : "(m\d)/).map { String($0.1) } == names)
    // The photo that is nowhere says so, in words and for scripts.
    let missing = AttachmentID.imported(entry: EntryID(name), identifier: "P9").name
    let words = "missing file \(missing.prefix(8)): the import did not contain it"
    #expect(page.contains("![](\(words))") && page.hasSuffix("  " + words), "\(page)")
    #expect(json.contains("\"missing\" : [\n    \"\(missing)\"\n  ]"), "\(json)")
    #expect(await program.run("list").output.contains("(no text)"))
  }

  /// What a process that was killed unpacked goes with the next import, and not what a living one holds.
  @Test func aKilledImportLeavesNothingForLong() async throws {
    let path = try journal([entry("A")])
    await program.run("import", path)
    let temporary = program.home + "/tmp"
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    try program.folder.write("left", to: "phone/tmp/import-killed/files/photos/a.png")
    try program.folder.write("half", to: "phone/tmp/copy-killed")
    let held = try ScratchFolder(temporary + "/import-alive")
    program.clock.withLock { $0 = .now }
    await program.run("import", path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).count == 3)
    program.clock.withLock { $0 = Moment.now.after(seconds: 120) }
    await program.run("import", path)
    #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == ["import-alive"])
    withExtendedLifetime(held) {}
  }

  @Test func aLongListOfNotesIsCountedAndCut() async throws {
    let path = try journal((0..<1_200).map { #"{"uuid": "E\#($0)", "text": "no date"}"# } + [entry("A")])
    let result = await program.run("import", path)
    #expect(result.output.contains("Skipped: 1200."))
    #expect(result.lines.count == 1 + 1 + 1_000 + 1 && result.lines.last == "… and 200 more.")
    let json = await program.run("import", path, "--json").output
    #expect(json.contains(#""skippedCount" : 1200"#))
  }

  /// The peak is measured by the kernel, of the program as a process of its own.
  @Test func threeTimesTheEntriesTakeNoMoreMemory() throws {
    let folder = TemporaryFolder()
    func peak(_ count: Int) throws -> Int {
      let text = String(repeating: "A line of the day that was long enough to be one. ", count: 20)
      let entries = (0..<count).map { index in
        #"{"uuid": "E\#(index)", "creationDate": "2020-01-03T10:00:00Z", "text": "\#(index) \#(text)"}"#
      }
      let path = try folder.write(#"{"entries": [\#(entries.joined(separator: ","))]}"#, to: "j\(count).json")
      let process = try BuiltProgram.start("lanternly", ["--home", "\(folder.path)/\(count)", "import", path])
      var peak = 0
      while process.isRunning {
        peak = max(peak, Fleet.peakBytes(of: process.processIdentifier))
        // Its memory is only known while it runs, so it is looked at often.
        usleep(2_000)
      }
      #expect(process.waited == 0)
      return peak
    }
    let (few, many) = (try peak(2_000), try peak(6_000))
    // Six megabytes of text more, and not one of memory beyond what the allocator's luck is worth.
    #expect(many < few + 3 << 20, "\(few) and \(many) bytes")
    #expect(many < 100 << 20)
  }
}
