import TestSupport
import Testing

@testable import VirgaWire

@Suite struct JSONReaderTests {
  private func accepts(_ text: String) -> Bool { accepts(Array(text.utf8)) }

  private func accepts(_ bytes: [UInt8]) -> Bool {
    var reader = JSONReader(bytes)
    do {
      try reader.skipValue()
      try reader.finish()
      return true
    } catch {
      return false
    }
  }

  @Test(arguments: [
    "{}", "[]", "0", "-0", "1e9", "1E-9", "-1.5e+3", "\"\"", "true", "false", "null", " [ 1 , 2 ] \n",
    #"{"a":{"b":[null,true,{"c":"d"}]}}"#, #""\u00e9\n\t\"\\\/\b\f\r""#, #""\ud83d\ude00""#, "\"ü😀\"",
  ])
  func validTextIsAccepted(_ text: String) { #expect(accepts(text)) }

  @Test(arguments: [
    "", " ", "{", "[", "\"", "{]", "[}", "[1,]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}", "'a'", "01", "-",
    "+1", ".5", "1.", "1e", "1e+", "0x10", "NaN", "Infinity", "tru", "nul", "truefalse", "[1 2]", "1 2", "[1]]",
    #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#, #""\ud800\u0041""#, #""\udc00""#, #""\"#, "\"\u{1}\"", "\"\n\"",
    "\u{feff}{}", "// c\n{}",
  ])
  func textThatIsNotJSONIsRefused(_ text: String) { #expect(!accepts(text)) }

  @Test(
    arguments: [
      [0xff], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf0, 0x80, 0x80, 0x80],
      [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0x80], [0xe2, 0x82], [0xc3],
    ] as [[UInt8]])
  func invalidUTF8IsRefused(_ bytes: [UInt8]) {
    #expect(!accepts([0x22] + bytes + [0x22]))
    #expect(!accepts([0x22] + bytes))
  }

  /// Every byte at every place, as eight are looked at together.
  @Test func bytesOfAStringThatNeedALookAreFoundWhereverTheyStand() {
    for byte in UInt8.min ... .max {
      for length in [1, 8, 9, 20] {
        for place in 0..<length {
          for behind in [UInt8(ascii: "a"), UInt8(ascii: "!"), UInt8(ascii: "]"), 0xff] {
            var bytes = [UInt8](repeating: UInt8(ascii: "#"), count: length)
            bytes[place] = byte
            if place + 1 < length { bytes[place + 1] = behind }
            let isPlain = { (byte: UInt8) in byte >= 0x20 && byte < 0x80 && byte != 0x22 && byte != 0x5c }
            let expected = bytes.firstIndex { !isPlain($0) } ?? length
            let found = bytes.withUnsafeBytes(plainByteCount)
            #expect(found == expected, "byte \(byte) at \(place) of \(length), before \(behind)")
          }
        }
      }
    }
  }

  @Test func nestingIsLimited() {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    #expect(accepts(nested(63)))
    #expect(accepts(nested(64)))
    #expect(!accepts(nested(65)))
    #expect(!accepts(String(repeating: #"{"a":"#, count: 100_000)))
  }

  @Test func integersKeepEveryDigit() throws {
    // C89: numbers past 2^53 keep their digits.
    for number in [0, 1, -1, 9_007_199_254_740_993, Int64.max, Int64.min] {
      var reader = JSONReader(Array(String(number).utf8))
      #expect(try reader.readInt64() == number)
    }
    for text in ["9223372036854775808", "-9223372036854775809", "1.0", "1e2", "\"1\"", "99999999999999999999"] {
      var reader = JSONReader(Array(text.utf8))
      #expect(throws: WireError.self) { try reader.readInt64() }
    }
  }

  @Test func doublesReadAsTheLibraryReadsThem() throws {
    var generator = SplitMix64(seed: 11)
    var texts = [
      "0.1", "-0.0", "1e22", "1e23", "123456789012345", "123456789012345678", "0.000001", "5e-324",
      "1.7976931348623157e308",
      "0.00000000000000000000000000001", "1e-400", "4.35", "2.675", "179769313486231570e291",
    ]
    for _ in 0..<2_000 {
      let bits = Double(bitPattern: generator.next())
      if bits.isFinite { texts.append(bits.description) }
      texts.append("\(Int64(truncatingIfNeeded: generator.next()) % 1_000_000_000).\(generator.next() % 100_000)")
    }
    for text in texts {
      var reader = JSONReader(Array(text.utf8))
      let expected = try #require(Double(text))
      #expect(try reader.readDouble().bitPattern == expected.bitPattern, "\(text)")
    }
    var reader = JSONReader(Array("1e999".utf8))
    #expect(throws: WireError.self) { try reader.readDouble() }
  }

  @Test func escapesBecomeTheirCharacters() throws {
    var reader = JSONReader(Array(#""a\u00e9\ud83d\ude00\n\"\\\/\u0000z""#.utf8))
    #expect(try reader.readString() == "a\u{e9}\u{1f600}\n\"\\/\u{0}z")
  }

  @Test func rawValuesLoseTheirSpacesOnly() throws {
    var reader = JSONReader(Array(#" { "a b" : [ 1 , "x \" y" ] } "#.utf8))
    #expect(String(decoding: try reader.readRaw(), as: UTF8.self) == #"{"a b":[1,"x \" y"]}"#)
    try reader.finish()
  }

  @Test func anErrorTellsPlaceAndExpectation() {
    let body = Array(#"{"operations":7}"#.utf8)
    #expect(throws: ServiceError.badRequest("Unexpected input at byte 14: expected an array")) {
      try Call(decoding: body, for: .recordsModify)
    }
  }
}

@Suite struct JSONWriterTests {
  @Test(arguments: [0.1, 1, -0.0, 1e21, 1e-7, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 123_456_789, 1 / 3])
  func doublesReadBackExactlyAndAsDoubles(_ number: Double) throws {
    var writer = JSONWriter()
    writer.double(number)
    let text = String(decoding: writer.bytes, as: UTF8.self)
    #expect(text.contains { ".eE".contains($0) })
    var reader = JSONReader(writer.bytes)
    #expect(try reader.readDouble().bitPattern == number.bitPattern)
    try reader.finish()
  }

  @Test func stringsAreEscapedAsNeededAndNoMore() {
    var writer = JSONWriter()
    writer.string("a\"b\\c\n\r\t\u{1}\u{1f}/é😀\u{2028}")
    #expect(String(decoding: writer.bytes, as: UTF8.self) == #""a\"b\\c\n\r\t\u0001\u001f/é😀"# + "\u{2028}\"")
  }

  @Test func everyStringComesBackWhereverItsSpecialCharactersStand() throws {
    let pieces = ["\"", "\\", "\u{0}", "\u{1f}", "\u{7f}", "é", "\u{2028}", "😀", "\n", "/", "!", "#", "[", "]"]
    for piece in pieces {
      for before in 0..<18 {
        for after in [0, 1, 7, 8, 9] {
          let text = String(repeating: "a", count: before) + piece + String(repeating: "z", count: after) + piece
          var writer = JSONWriter()
          writer.string(text)
          var reader = JSONReader(writer.bytes)
          #expect(try reader.readString() == text)
          try reader.finish()
        }
      }
    }
  }

  @Test func integersAreWrittenToTheLastDigit() {
    var writer = JSONWriter()
    writer.array([Int64.min, -1, 0, 9, 10, .max]) { $0.int($1) }
    #expect(String(decoding: writer.bytes, as: UTF8.self) == "[-9223372036854775808,-1,0,9,10,9223372036854775807]")
  }
}

@Suite struct Base64Tests {
  @Test func bytesOfEveryLengthComeBack() throws {
    var generator = SplitMix64(seed: 3)
    for length in 0...66 {
      let bytes = (0..<length).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      let text = Base64.encode(bytes)
      #expect(text.utf8.count == (length + 2) / 3 * 4)
      #expect(Base64.decode(text) == bytes)
      #expect(Base64.decode(text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")) == bytes)
    }
    #expect(Base64.encode(Array("foobar".utf8)) == "Zm9vYmFy")
    #expect(Base64.encode(Array("fooba".utf8)) == "Zm9vYmE=")
  }

  @Test(arguments: ["A", "=", "A===", "AA=A", "AAA==", "A A=", "é", "AAAA=", "*AAA"])
  func otherTextIsRefused(_ text: String) { #expect(Base64.decode(text) == nil) }
}
