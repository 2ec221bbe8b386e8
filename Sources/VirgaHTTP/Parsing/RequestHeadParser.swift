/// Reads the head of one request, a line at a time as its bytes come.
///
/// It is stricter than RFC 9112 asks of a recipient: whatever two parties could read in two ways is refused, since the
/// other party may be a proxy in front of this server that shares one connection among many users.
struct RequestHeadParser: Sendable {
  struct Limits: Sendable, Hashable {
    /// Bytes of the whole head, its line ends included.
    var headBytesMax = 16_384
    var fieldsMax = 100
    var targetBytesMax = 8_192
  }

  /// The names of methods in use have at most 17 bytes.
  private static let methodBytesMax = 32

  private let limits: Limits
  private var bytesTaken = 0
  private var hasSkippedEmptyLine = false
  private var requestLine: (method: String, target: String, isVersion10: Bool)?
  private var headers = HTTPHeaders()
  private var contentLength: Int64?
  private var isChunked = false
  private var hasHost = false
  private var asksToClose = false
  private var asksToKeep = false
  private var expectsContinue = false
  private var expectsMore = false

  init(limits: Limits = Limits()) { self.limits = limits }

  /// Whether a request line has been taken.
  var hasBegun: Bool { requestLine != nil }

  /// Takes the whole lines that `bytes` begins with and moves `offset` behind them.
  /// - Parameter bytes: What was left of the last call, and what has come since.
  /// - Returns: The head once its empty line is there, else `nil`: call again with more.
  mutating func parse(_ bytes: Span<UInt8>, from offset: inout Int) throws(HTTPRefusal) -> ParsedHead? {
    if requestLine == nil, offset < bytes.count, !ByteClass.isToken(bytes[offset]), bytes[offset] != 0x0d {
      throw .requestLine
    }
    while let lineFeed = firstLineFeed(in: bytes, from: offset) {
      let length = lineFeed + 1 - offset
      guard bytesTaken + length <= limits.headBytesMax else { throw tooLarge }
      guard length > 1, bytes[lineFeed - 1] == 0x0d else { throw .lineEnding }
      let line = bytes.extracting(offset..<lineFeed - 1)
      bytesTaken += length
      offset += length
      if !line.isEmpty {
        if requestLine == nil { try parseRequestLine(line) } else { try parseField(line) }
      } else if requestLine != nil {
        return try finish()
      } else {
        // A client may end a body with an empty line too many (RFC 9112, 2.2); one is forgiven.
        guard !hasSkippedEmptyLine else { throw .requestLine }
        hasSkippedEmptyLine = true
      }
    }
    guard bytesTaken + bytes.count - offset < limits.headBytesMax else { throw tooLarge }
    if requestLine == nil, bytes.count - offset > limits.targetBytesMax + Self.methodBytesMax { throw .targetTooLong }
    return nil
  }

  private var tooLarge: HTTPRefusal { requestLine == nil ? .targetTooLong : .headTooLarge }

  private mutating func parseRequestLine(_ line: Span<UInt8>) throws(HTTPRefusal) {
    var methodEnd = 0
    while methodEnd < line.count, ByteClass.isToken(line[methodEnd]) { methodEnd += 1 }
    guard (1...Self.methodBytesMax).contains(methodEnd), methodEnd < line.count, line[methodEnd] == 0x20 else {
      throw .requestLine
    }
    var targetEnd = methodEnd + 1
    while targetEnd < line.count, ByteClass.isTarget(line[targetEnd]) { targetEnd += 1 }
    guard targetEnd > methodEnd + 1, targetEnd < line.count, line[targetEnd] == 0x20 else { throw .requestLine }
    let isVersion10 = try parseVersion(line.extracting((targetEnd + 1)...))
    let target = line.extracting(methodEnd + 1..<targetEnd)
    guard target.count <= limits.targetBytesMax else { throw .targetTooLong }
    guard target[0] == 0x2f else { throw .target }
    requestLine = (string(line.extracting(..<methodEnd)), string(target), isVersion10)
  }

  /// Returns whether it is HTTP/1.0.
  private func parseVersion(_ text: Span<UInt8>) throws(HTTPRefusal) -> Bool {
    guard text.count == 8, text.extracting(..<5).equals("HTTP/"), ByteClass.isDigit(text[5]), text[6] == 0x2e,
      ByteClass.isDigit(text[7])
    else { throw .requestLine }
    guard text[5] == 0x31, text[7] <= 0x31 else { throw .version }
    return text[7] == 0x30
  }

  private mutating func parseField(_ line: Span<UInt8>) throws(HTTPRefusal) {
    guard headers.fields.count < limits.fieldsMax else { throw .headTooLarge }
    var colon = 0
    while colon < line.count, ByteClass.isToken(line[colon]) { colon += 1 }
    // This refuses white space before the colon, and a line that goes on with the value of the one before.
    guard colon > 0, colon < line.count, line[colon] == 0x3a else { throw .field }
    var start = colon + 1
    var end = line.count
    while start < end, ByteClass.isWhiteSpace(line[start]) { start += 1 }
    while end > start, ByteClass.isWhiteSpace(line[end - 1]) { end -= 1 }
    let name = line.extracting(..<colon)
    let value = line.extracting(start..<end)
    guard value.isFieldValue else { throw .field }
    try note(name, value)
    guard let text = validatedString(value) else { throw .field }
    headers.append(string(name), text)
  }

  /// Notes the fields that decide about the connection and the body.
  private mutating func note(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTPRefusal) {
    switch name.count {
    case 4 where name.equalsLowercased("host"):
      guard !hasHost, !value.isEmpty, value.allSatisfy(ByteClass.isHost) else { throw .host }
      hasHost = true
    case 6 where name.equalsLowercased("expect"):
      if value.equalsLowercased("100-continue") { expectsContinue = true } else { expectsMore = true }
    case 10 where name.equalsLowercased("connection"):
      value.forEachListMember { member in
        if member.equalsLowercased("close") { asksToClose = true }
        if member.equalsLowercased("keep-alive") { asksToKeep = true }
      }
    case 14 where name.equalsLowercased("content-length"):
      guard contentLength == nil, !value.isEmpty, value.allSatisfy(ByteClass.isDigit) else { throw .contentLength }
      guard value.count <= 18 else { throw .bodyTooLarge }
      var length: Int64 = 0
      for index in value.indices { length = length * 10 + Int64(value[index] - 0x30) }
      contentLength = length
    case 17 where name.equalsLowercased("transfer-encoding"):
      guard !isChunked else { throw .framing }
      guard value.equals("chunked") else { throw .coding }
      isChunked = true
    default: break
    }
  }

  private func finish() throws(HTTPRefusal) -> ParsedHead {
    guard let requestLine else { throw .requestLine }
    guard hasHost || requestLine.isVersion10 else { throw .host }
    if isChunked, contentLength != nil || requestLine.isVersion10 { throw .framing }
    if expectsMore { throw .expectation }
    return ParsedHead(
      head: HTTPRequestHead(method: requestLine.method, target: requestLine.target, headers: headers),
      framing: isChunked ? .chunked : contentLength.map { $0 == 0 ? .none : .length($0) } ?? .none,
      isVersion10: requestLine.isVersion10,
      keepsAlive: !asksToClose && (asksToKeep || !requestLine.isVersion10),
      expectsContinue: expectsContinue && !requestLine.isVersion10)
  }
}
