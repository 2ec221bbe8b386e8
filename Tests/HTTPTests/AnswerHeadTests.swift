import Testing

@testable import VirgaHTTP

@Suite struct AnswerHeadTests {
  /// Every byte at every place of a text, as its neighbours are looked at together.
  @Test func aFieldValueIsCheckedByteForByte() {
    for byte in UInt8.min ... .max {
      for length in [1, 7, 8, 9, 17] {
        for place in 0..<length {
          for neighbour in [UInt8(ascii: "a"), 0x80, 0xff, 0x20] {
            var bytes = [UInt8](repeating: neighbour, count: length)
            bytes[place] = byte
            let expected = bytes.allSatisfy(ByteClass.isFieldValue)
            #expect(bytes.span.isFieldValue == expected, "byte \(byte) at \(place) of \(length), beside \(neighbour)")
          }
        }
      }
    }
  }

  @Test(arguments: ["X-Name\n", "X Name", "", "X-Näme", "X-Name:"])
  func aNameThatIsNoTokenIsNotWritten(name: String) {
    #expect(!isWritable(HTTPResponse(status: 200, headers: HTTPHeaders([(name, "value")]))))
  }

  @Test(arguments: [("plain", true), ("grün\tund weit", true), ("a\r\nSet-Cookie: b", false), ("\u{7f}", false)])
  func aValueWithALineEndIsNotWritten(value: String, isWritten: Bool) {
    #expect(isWritable(HTTPResponse(status: 200, headers: HTTPHeaders([("X-Name", value)]))) == isWritten)
  }

  @Test(arguments: [0, 7, 10, 99, 100, 65_536, Int64.max] as [Int64])
  func numbersAreWrittenInDecimal(number: Int64) {
    var bytes: [UInt8] = []
    appendDecimal(number, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == String(number))
  }

  @Test(arguments: [
    ("content-type", "Content-Type", true), ("CONTENT-TYPE", "content-type", true), ("Date", "Dat", false),
    ("a[", "a{", false), ("Straße", "STRAßE", true),
  ])
  func namesCompareWithoutRegardToCase(left: String, right: String, areEqual: Bool) {
    #expect(left.equalsIgnoringASCIICase(right) == areEqual)
  }
}
