import Testing

@testable import VirgaHTTP

/// What the parser makes of a head that is there at once.
func parseHead(_ text: String, limits: RequestHeadParser.Limits = .init()) -> Result<ParsedHead?, HTTPRefusal> {
  parseHead(Array(text.utf8), limits: limits)
}

func parseHead(_ bytes: [UInt8], limits: RequestHeadParser.Limits = .init()) -> Result<ParsedHead?, HTTPRefusal> {
  var parser = RequestHeadParser(limits: limits)
  var offset = 0
  do throws(HTTPRefusal) {
    return .success(try parser.parse(bytes.span, from: &offset))
  } catch {
    return .failure(error)
  }
}

@Suite struct ParserHeadTests {
  @Test func headIsReadWithItsFieldsInOrder() throws {
    let head = try #require(
      try parseHead(
        "POST /a/b?c=%20d HTTP/1.1\r\nHost: example.org:8787\r\nX-One:1\r\nx-two: \t two words \t\r\nX-Empty:\r\n"
          + "Content-Length: 0012\r\n\r\nrest"
      ).get())
    #expect(head.head.method == "POST")
    #expect(head.head.target == "/a/b?c=%20d")
    #expect(head.head.headers.fields.map(\.name) == ["Host", "X-One", "x-two", "X-Empty", "Content-Length"])
    #expect(head.head.headers.fields.map(\.value) == ["example.org:8787", "1", "two words", "", "0012"])
    #expect(head.framing == .length(12))
    #expect(head.keepsAlive)
    #expect(!head.expectsContinue)
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: [::1]:8787\r\n\r\n",
    "GET /%zz%00%2f HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nX: \u{e9}t\u{e9}\r\n\r\n",
    "GET / HTTP/1.1\r\nHOST: a\r\ncontent-LENGTH: 0\r\n\r\n",
    "PURGE-it!#$%&'*+.^_`|~ / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.0\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTRANSFER-ENCODING:\tchunked \r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999999999999\r\n\r\n",
  ])
  func soundHeadIsTaken(text: String) throws {
    #expect(try parseHead(text).get() != nil)
  }

  static let refused: [(String, Int)] = [
    // Request lines.
    ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
    (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\r\n", 400),
    ("GET\r\n", 400),
    ("GET / HTTP/1.1\tx\r\nHost: a\r\n\r\n", 400),
    ("G(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("\u{16}\u{3}\u{1}", 400),
    ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/11\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/0.9\r\nHost: a\r\n\r\n", 505),
    ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ("PRI * HTTP/2.0\r\n\r\n", 505),
    ("\(String(repeating: "M", count: 33)) / HTTP/1.1\r\n\r\n", 400),
    // Targets.
    ("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    // Line ends.
    ("GET / HTTP/1.1\nHost: a\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n\n", 400),
    ("GET / HTTP/1.1\rHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", 400),
    // Fields.
    ("GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\t: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\tc\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\u{0}c\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\u{0}: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\u{b}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX: b\u{7f}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX(: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nX\u{e9}: b\r\n\r\n", 400),
    // Host.
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400),
    ("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400),
    // Framing.
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3 3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \u{663}\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 3\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n", 501),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding\r\n : chunked\r\n\r\n", 400),
    ("POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    // Expectations.
    ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 3\r\n\r\n", 417),
    ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue, more\r\nContent-Length: 3\r\n\r\n", 417),
  ]

  @Test(arguments: refused)
  func doubtfulHeadIsRefused(text: String, status: Int) {
    switch parseHead(text) {
    case .failure(let refusal): #expect(refusal.status == status)
    case .success: Issue.record("taken or waited for")
    }
  }

  @Test func fieldThatIsNotUTF8IsRefused() {
    let bytes = Array("GET / HTTP/1.1\r\nHost: a\r\nX: ".utf8) + [0xff, 0xfe] + Array("\r\n\r\n".utf8)
    #expect(parseHead(bytes) == .failure(.field))
  }

  @Test func limitsHoldToTheByte() throws {
    let limits = RequestHeadParser.Limits(headBytesMax: 60, fieldsMax: 3, targetBytesMax: 10)
    let bare = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
    func padded(to count: Int) -> String {
      bare.replacing("X: ", with: "X: " + String(repeating: "x", count: count - bare.utf8.count))
    }
    #expect(try parseHead(padded(to: 59), limits: limits).get() != nil)
    #expect(try parseHead(padded(to: 60), limits: limits).get() != nil)
    #expect(parseHead(padded(to: 61), limits: limits) == .failure(.headTooLarge))

    func withFields(_ count: Int) -> String {
      "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X:\r\n", count: count - 1) + "\r\n"
    }
    #expect(try parseHead(withFields(2), limits: limits).get() != nil)
    #expect(try parseHead(withFields(3), limits: limits).get() != nil)
    #expect(parseHead(withFields(4), limits: limits) == .failure(.headTooLarge))

    func withTarget(_ count: Int) -> String {
      "GET /" + String(repeating: "t", count: count - 1) + " HTTP/1.1\r\nHost: a\r\n\r\n"
    }
    #expect(try parseHead(withTarget(9), limits: limits).get() != nil)
    #expect(try parseHead(withTarget(10), limits: limits).get() != nil)
    #expect(parseHead(withTarget(11), limits: limits) == .failure(.targetTooLong))
  }

  @Test func endlessHeadIsRefusedBeforeItsEnd() {
    let endlessTarget = "GET /" + String(repeating: "t", count: 9_000)
    #expect(parseHead(endlessTarget) == .failure(.targetTooLong))
    let endlessField = "GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 17_000)
    #expect(parseHead(endlessField) == .failure(.headTooLarge))
  }

  @Test func headInPiecesIsTheHeadAtOnce() throws {
    let bytes = Array("\r\nPUT /p HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 5\r\n\r\n".utf8)
    let whole = try #require(try parseHead(bytes).get())
    #expect(whole.expectsContinue)
    for step in 1...9 {
      var parser = RequestHeadParser()
      var buffer: [UInt8] = []
      var parsed: ParsedHead?
      for start in stride(from: 0, to: bytes.count, by: step) {
        buffer += bytes[start..<min(start + step, bytes.count)]
        var offset = 0
        parsed = try parser.parse(buffer.span, from: &offset)
        buffer.removeSubrange(..<offset)
      }
      #expect(parsed == whole)
      #expect(buffer.isEmpty)
    }
  }
}
