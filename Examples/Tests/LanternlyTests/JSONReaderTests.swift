import Foundation
import Testing

@testable import LanternlyCore

/// JSON that is read as a stream.
struct JSONReaderTests {
  private func value(_ text: String) throws -> LooseValue { try value(Array(text.utf8)) }

  private func value(_ bytes: [UInt8]) throws -> LooseValue {
    let reader = JSONReader(bytes)
    var room = LooseValue.bytesMax
    let value = try LooseValue(reader, room: &room)
    try reader.end()
    return value
  }

  @Test(arguments: [
    (#""""#, ""), (#""a\nb\t\"\\\/""#, "a\nb\t\"\\/"), (#""é 日本 \u00e9\u0000""#, "é 日本 é\u{0}"),
    (#""\ud83d\udc68""#, "👨"), (#""\uD83D\uDC68\u200d""#, "👨\u{200D}"),
  ]) func textsAreRead(json: String, text: String) throws {
    #expect(try value(json) == .text(text))
  }

  /// Half of a pair, two first halves, halves the wrong way round, one before another escape, and bytes of Latin-1.
  @Test(arguments: [
    Array(#""a\ud83d""#.utf8), Array(#""\ud83d\ud83d\udc68""#.utf8), Array(#""\udc68\ud83d""#.utf8),
    Array(#""\ud83d\n""#.utf8), Array(#""\ud83dx""#.utf8), [0x22, 0xF1, 0x22],
  ]) func aTextThatIsNoneIsAValueAmongOthers(bytes: [UInt8]) throws {
    #expect(try value(bytes) == .brokenText)
    #expect(
      try value(Array("[1, ".utf8) + bytes + Array(", true]".utf8)) == .list([.number("1"), .brokenText, .bool(true)]))
  }

  @Test(arguments: [
    "", " ", "{", "[1,]", "{\"a\" 1}", "{\"a\": 1,}", "{a: 1}", "[1 2]", "01", "1.", ".5", "-", "1e", "+1", "tru",
    "nul",
    "\"a", "\"a\nb\"", #""\x""#, #""\u12g4""#, "[1] 2", "{\"a\": 1}}", String(repeating: "[", count: 200),
  ]) func brokenGrammarIsRefused(json: String) {
    #expect(throws: JSONReader.Failure.self) { try value(json) }
  }

  @Test func theErrorSaysWhere() {
    #expect(throws: JSONReader.Failure.syntax(line: 3, column: 7)) { try value("{\n\"a\": 1,\n  \"b\" x}") }
  }

  @Test(arguments: [
    "0", "-0", "51.123456789012345", "1.7976931348623157e308", "-1E-7", "123456789012345678901234567890", "0.1",
  ]) func numbersKeepAllTheirDigits(digits: String) throws {
    #expect(try value(digits) == .number(digits))
    #expect(LooseObject(["a": .number(digits)]).double("a") == Double(digits))
  }

  /// A file is read in pieces, and texts, pairs and words lie across their ends.
  @Test func whatLiesAcrossPiecesIsRead() throws {
    let folder = TemporaryFolder()
    for shift in 0..<40 {
      let filler = String(repeating: " ", count: 65_520 + shift)
      let path = try folder.write("\u{FEFF}[\(filler)\"añ\\ud83d\\udc68b\", true, 12.5e3]", to: "a.json")
      let reader = try JSONReader(reading: path)
      var room = LooseValue.bytesMax
      #expect(try LooseValue(reader, room: &room) == .list([.text("añ👨b"), .bool(true), .number("12.5e3")]))
      try reader.end()
    }
  }

  @Test func whatIsWrittenIsReadAgain() throws {
    let text = "quote \" back \\ line \n tab \t bell \u{7} nul \u{0} del \u{7F} family 👨‍👩‍👧 \u{2028}"
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("text", text)
      writer.member("none", [])
      writer.member("list", ["a", "b"])
      writer.member("number", 0.1 + 0.2)
      writer.member("whole", 4.0)
    }
    let object = try #require(LooseObject(try value(writer.bytes)))
    #expect(object.text("text") == text)
    #expect(object.double("number") == 0.1 + 0.2)
    #expect(object.strings("list") == ["a", "b"])
    #expect(writer.text.hasSuffix("  \"whole\" : 4\n}"))
    // Foundation agrees.
    #expect(try JSONSerialization.jsonObject(with: Data(writer.bytes)) is [String: Any])
  }

  /// What Foundation's encoder wrote is what is read by hand.
  @Test func entriesAreReadAsTheyWereStored() throws {
    var entry = Entry(
      text: "a \"b\"\n\u{1F468}", written: Written(moment: Moment(milliseconds: -5), zone: "Asia/Tokyo"),
      edited: EditTimes(list: (1...8).map { Moment(milliseconds: $0) }))
    #expect(try Entry(stored: Array(StoredJSON.text(entry).utf8)) == entry)
    entry.mood = 3
    entry.tags = ["ñ": Moment(milliseconds: 7), "": .never]
    entry.place = Place()
    entry.place?.latitude = 51.123456789012345
    entry.place?.longitude = 0
    entry.weather = Weather()
    entry.weather?.celsius = -1e-30
    entry.weather?.conditions = "fog"
    (entry.isStarred, entry.isDeleted, entry.device) = (true, true, "phone")
    entry.copyOf = EntryID("c0")
    entry.origin = Origin(source: "dayone:A", modified: Moment(milliseconds: .max))
    #expect(try Entry(stored: Array(StoredJSON.text(entry).utf8)) == entry)
    #expect(throws: (any Error).self) { try Entry(stored: Array("{\"text\": ".utf8)) }
    // What a list needs is the same in an outline, and nothing that stands between is taken for it.
    entry.device = #"a "quoted\" [device}, \"#
    let outline = try Entry(stored: Array(StoredJSON.text(entry).utf8), .outline)
    #expect(outline.text == entry.text && outline.written == entry.written && outline.tags == entry.tags)
    #expect(outline.isStarred && outline.isDeleted && outline.place == entry.place)
    #expect(outline.device == "" && outline.weather == nil && outline.mood == nil)
  }
}
