import Testing

@testable import VirgaHTTP

/// Reads a chunked body that arrives in pieces of `step` bytes.
func parseChunks(_ bytes: [UInt8], step: Int = .max, limits: ChunkedBodyParser.Limits = .init()) -> ChunkOutcome {
  var parser = ChunkedBodyParser(limits: limits)
  var data: [UInt8] = []
  var start = 0
  while start < bytes.count, !parser.isAtEnd {
    let piece = Array(bytes[start..<min(bytes.count, start + min(step, bytes.count))])
    var offset = 0
    do throws(HTTPRefusal) {
      while let range = try parser.next(piece.span, from: &offset) { data += piece[range] }
    } catch {
      return .refused(error)
    }
    start += offset
  }
  return parser.isAtEnd ? .body(data, rest: bytes.count - start) : .unfinished
}

enum ChunkOutcome: Equatable {
  case body([UInt8], rest: Int)
  case unfinished
  case refused(HTTPRefusal)
}

@Suite struct ParserChunkTests {
  @Test(arguments: [
    ("0\r\n\r\n", "", 0),
    ("3\r\nabc\r\n0\r\n\r\n", "abc", 0),
    ("3\r\nabc\r\n2\r\nde\r\n0\r\n\r\nGET", "abcde", 3),
    ("00000000000000A\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0),
    ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789", 0),
    ("3;name=value;other\r\nabc\r\n0;x\r\n\r\n", "abc", 0),
    ("3\r\nabc\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", "abc", 0),
    ("5\r\n\r\n\r\n\r\r\n0\r\n\r\n", "\r\n\r\n\r", 0),
  ])
  func bodyIsReadHoweverItIsCut(text: String, data: String, rest: Int) {
    for step in [Int.max, 1, 2, 3, 5, 7] {
      #expect(parseChunks(Array(text.utf8), step: step) == .body(Array(data.utf8), rest: rest))
    }
  }

  @Test(arguments: [
    "\r\nabc\r\n0\r\n\r\n",
    "0x3\r\nabc\r\n0\r\n\r\n",
    "+3\r\nabc\r\n0\r\n\r\n",
    "-3\r\nabc\r\n0\r\n\r\n",
    " 3\r\nabc\r\n0\r\n\r\n",
    "3 \r\nabc\r\n0\r\n\r\n",
    "3 ;x\r\nabc\r\n0\r\n\r\n",
    "g\r\nabc\r\n0\r\n\r\n",
    ";x\r\nabc\r\n0\r\n\r\n",
    "3\nabc\r\n0\r\n\r\n",
    "3\rabc\r\n0\r\n\r\n",
    "3;x\nabc\r\n0\r\n\r\n",
    "3;\u{0}\r\nabc\r\n0\r\n\r\n",
    "3\r\nabc0\r\n\r\n",
    "3\r\nabcd\r\n0\r\n\r\n",
    "3\r\nabc\n0\r\n\r\n",
    "3\r\nabc\r\n\r\n0\r\n\r\n",
    "3\r\nabc\r\n0\r\n\n",
    "3\r\nabc\r\n0\n\n",
    "3\r\nabc\r\n0\r\nX : 1\r\n\r\n",
    "3\r\nabc\r\n0\r\n X: 1\r\n\r\n",
    "3\r\nabc\r\n0\r\nX: 1\n\r\n",
    "3\r\nabc\r\n0\r\nX: \u{0}\r\n\r\n",
    "3\r\nabc\r\n0\r\nX\r\n\r\n",
    "8000000000000000\r\n",
    "ffffffffffffffff\r\n",
    "0000000000000003\r\nabc\r\n",
  ])
  func malformedChunksAreRefused(text: String) {
    #expect(parseChunks(Array(text.utf8)) == .refused(.chunk))
    #expect(parseChunks(Array(text.utf8), step: 1) == .refused(.chunk))
  }

  @Test func extensionsAndTrailersHaveLimits() {
    let limits = ChunkedBodyParser.Limits(extensionBytesMax: 4, trailerBytesMax: 6)
    func outcome(_ text: String) -> ChunkOutcome { parseChunks(Array(text.utf8), limits: limits) }
    let data: [UInt8] = [97, 98]
    #expect(outcome("1;xx\r\na\r\n1;xx\r\nb\r\n0\r\n\r\n") == .body(data, rest: 0))
    #expect(outcome("1;xx\r\na\r\n1;xxx\r\nb\r\n0\r\n\r\n") == .refused(.chunk))
    #expect(outcome("2\r\nab\r\n0\r\nX:1\r\nY:2\r\n\r\n") == .body(data, rest: 0))
    #expect(outcome("2\r\nab\r\n0\r\nX:1\r\nY:23\r\n\r\n") == .refused(.chunk))
  }

  @Test func unfinishedBodyAsksForMore() {
    let bytes = Array("3\r\nabc\r\n0\r\nX: 1\r\n\r\n".utf8)
    for count in 1..<bytes.count { #expect(parseChunks(Array(bytes[..<count])) == .unfinished) }
  }
}
