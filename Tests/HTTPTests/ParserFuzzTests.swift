import Foundation
import TestSupport
import Testing

@testable import VirgaHTTP

@Suite struct ParserFuzzTests {
  static let seeds = [
    "GET /database/1/iCloud.org.example/development/private/records/lookup?x=%20 HTTP/1.1\r\nHost: a:80\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nhello world",
    "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=1\r\n world\r\n0\r\nT: 1\r\n\r\n",
    "PUT /p HTTP/1.1\r\nHost: [::1]\r\nExpect: 100-continue\r\nConnection: close, x\r\nContent-Length: 2\r\n\r\nab",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Long: \(String(repeating: "v", count: 300))\r\n\r\n",
  ]
  static let pieces = [
    "\r\n", "\n", "\r", "\u{0}", " ", "\t", ":", ",", ";", "0", "-1", "+", "0x", "chunked", "gzip, ", "\r\n ",
    "\r\n\r\n",
    "Content-Length: 5\r\n", "content-length:0\r\n", "Content-Length : 5\r\n", "Transfer-Encoding: chunked\r\n",
    "Transfer-Encoding: identity\r\n", "Host: b\r\n", "Host:\r\n", "HTTP/1.1", "http://a/", "\u{e9}",
    "99999999999999999999",
  ]

  /// A reading of a head by other means, which must find nothing that two readers could take in two ways.
  static func complaint(about head: String) -> String? {
    guard head.hasSuffix("\r\n\r\n") else { return "no end" }
    // CR LF is one character of a string.
    let lines = head.dropLast(2).split(separator: "\r\n", omittingEmptySubsequences: false).drop { $0.isEmpty }
    if lines.contains(where: { $0.unicodeScalars.contains { $0 == "\r" || $0 == "\n" || $0 == "\0" } }) {
      return "control character"
    }
    var counts: [String: Int] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { return "no colon" }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      if name.isEmpty || name.contains(where: { $0.isWhitespace }) { return "white space in a name" }
      counts[name, default: 0] += 1
      if name == "content-length", value.prefix(while: { $0.isASCII && $0.isNumber }).isEmpty { return "length" }
      if name == "transfer-encoding", !value.hasPrefix("chunked") { return "coding" }
    }
    let (length, coding) = (counts["content-length", default: 0], counts["transfer-encoding", default: 0])
    if length + coding > 1 { return "framing twice" }
    let isVersion11 = lines.first?.hasSuffix(" HTTP/1.1") == true
    if isVersion11, counts["host"] != 1 { return "host" }
    if !isVersion11, coding > 0 { return "chunks in HTTP/1.0" }
    return nil
  }

  @Test(arguments: [1, 2, 3, 4])
  func mutatedRequestsNeverTrapNorSmuggle(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var taken = 0
    for round in 0..<5_000 {
      var bytes = Array(Self.seeds[Int(random.next() % UInt64(Self.seeds.count))].utf8)
      for _ in 0...(random.next() % 4) { Self.mutate(&bytes, with: &random) }
      let step = random.next() % 3 == 0 ? Int(random.next() % 40) + 1 : Int.max
      let whole = Self.outcome(of: bytes, step: .max)
      #expect(whole == Self.outcome(of: bytes, step: step), "seed \(seed), round \(round)")
      guard case .head(let length, _) = whole else { continue }
      taken += 1
      let complaint = Self.complaint(about: String(decoding: bytes[..<length], as: UTF8.self))
      #expect(complaint == nil, "seed \(seed), round \(round)")
    }
    // Otherwise the mutations are so wild that nothing is proved.
    #expect(taken > 500)
  }

  /// The long form, for `make fuzz SECONDS=600`.
  @Test(
    .enabled(if: ProcessInfo.processInfo.environment["VIRGA_FUZZ_SECONDS"] != nil, "for make fuzz"),
    .timeLimit(.minutes(30)))
  func mutatedRequestsForAsLongAsItTakes() throws {
    let seconds = try #require(ProcessInfo.processInfo.environment["VIRGA_FUZZ_SECONDS"].flatMap(Int.init))
    var seed = UInt64(Date().timeIntervalSince1970)
    print("fuzzing heads and chunks from seed \(seed)")
    let start = ContinuousClock.now
    while ContinuousClock.now - start < .seconds(seconds) {
      seed += 1
      mutatedRequestsNeverTrapNorSmuggle(seed: seed)
    }
  }

  enum Outcome: Equatable {
    case head(length: Int, body: ChunkOutcome?)
    case refused(Int)
    case unfinished
  }

  static func outcome(of bytes: [UInt8], step: Int) -> Outcome {
    var parser = RequestHeadParser()
    var buffer: [UInt8] = []
    var start = 0
    var consumed = 0
    do throws(HTTPRefusal) {
      while start < bytes.count {
        let end = min(bytes.count, start + min(step, bytes.count))
        buffer += bytes[start..<end]
        start = end
        var offset = 0
        let head = try parser.parse(buffer.span, from: &offset)
        consumed += offset
        buffer.removeSubrange(..<offset)
        guard let head else { continue }
        let body = head.framing == .chunked ? parseChunks(Array(bytes[consumed...]), step: step) : nil
        return .head(length: consumed, body: body)
      }
      return .unfinished
    } catch {
      // Which of several faults is seen first may depend on how the bytes are cut.
      return .refused(error.status >= 500 ? 400 : error.status)
    }
  }

  static func mutate(_ bytes: inout [UInt8], with random: inout SplitMix64) {
    guard !bytes.isEmpty else { return }
    let place = Int(random.next() % UInt64(bytes.count))
    switch random.next() % 6 {
    case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
    case 1: bytes.remove(at: place)
    case 2: bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: place)
    case 3:
      // A whole field, where a line begins.
      let lineStart = bytes[place...].firstIndex(of: 10).map { $0 + 1 } ?? bytes.count
      bytes.insert(contentsOf: pieces[Int(random.next() % UInt64(pieces.count))].utf8, at: lineStart)
    case 4:
      let end = min(bytes.count, place + Int(random.next() % 30))
      bytes.insert(contentsOf: Array(bytes[place..<end]), at: Int(random.next() % UInt64(bytes.count)))
    default: bytes.removeSubrange(place..<min(bytes.count, place + Int(random.next() % 8)))
    }
  }
}
