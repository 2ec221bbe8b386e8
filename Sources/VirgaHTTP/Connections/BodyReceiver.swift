/// Takes the body of one request as its bytes come, into memory or into a file.
///
/// Memory grows with what has arrived: a length that a client only claims allocates nothing.
struct BodyReceiver {
  /// The first allocation for a body whose length the client claims, as far as it claims so much.
  private static let firstCapacity = 65_536

  private var framing: ParsedHead.Framing
  private var chunks: ChunkedBodyParser
  private let limit: Int64
  private let tooLarge: HTTPRefusal
  private var bytes: [UInt8] = []
  private var file: UploadFile?
  private(set) var received: Int64 = 0
  let began: Instant

  private init(
    _ framing: ParsedHead.Framing, limit: Int64, tooLarge: HTTPRefusal, chunkLimits: ChunkedBodyParser.Limits,
    began: Instant
  ) throws(HTTPRefusal) {
    if case .length(let length) = framing, length > limit { throw tooLarge }
    self.tooLarge = tooLarge
    self.framing = framing
    self.limit = limit
    self.began = began
    chunks = ChunkedBodyParser(limits: chunkLimits)
  }

  /// A receiver into memory. Throws 413 when more is announced than the limit allows.
  init(
    buffering framing: ParsedHead.Framing, limit: Int, chunkLimits: ChunkedBodyParser.Limits, began: Instant
  ) throws(HTTPRefusal) {
    try self.init(
      framing, limit: Int64(limit), tooLarge: .bodyTooLarge(limit: Int64(limit)), chunkLimits: chunkLimits, began: began
    )
  }

  /// A receiver into a new file. Throws 413 when more is announced than the limit allows, 500 or 507 for the disk's sake.
  init(
    streaming framing: ParsedHead.Framing, into file: @autoclosure () throws(HTTPRefusal) -> UploadFile, limit: Int64,
    chunkLimits: ChunkedBodyParser.Limits, began: Instant
  ) throws(HTTPRefusal) {
    try self.init(
      framing, limit: limit, tooLarge: .fileTooLarge(limit: limit), chunkLimits: chunkLimits, began: began)
    self.file = try file()
  }

  var bytesInMemory: Int { bytes.capacity }

  /// Whether more than so many bytes are announced or have come.
  func exceeds(_ count: Int) -> Bool {
    if case .length(let length) = framing { length > count } else { received > count }
  }

  var isComplete: Bool {
    switch framing {
    case .none: true
    case .length(let length): received == length
    case .chunked: chunks.isAtEnd
    }
  }

  /// Takes what of `input` belongs to the body and moves `offset` behind it.
  mutating func take(_ input: Span<UInt8>, from offset: inout Int) throws(HTTPRefusal) {
    switch framing {
    case .none: break
    case .length(let length):
      let count = Int(min(length - received, Int64(input.count - offset)))
      try keep(input.extracting(offset..<offset + count), expecting: length)
      offset += count
    case .chunked:
      while let range = try chunks.next(input, from: &offset) {
        guard Int64(range.count) <= limit - received else { throw tooLarge }
        try keep(input.extracting(range), expecting: nil)
      }
    }
  }

  private mutating func keep(_ data: Span<UInt8>, expecting length: Int64?) throws(HTTPRefusal) {
    received += Int64(data.count)
    if let file {
      try file.append(data)
      return
    }
    let count = bytes.count + data.count
    if count > bytes.capacity {
      let first = length == nil ? 0 : Self.firstCapacity
      bytes.reserveCapacity(Int(min(length ?? limit, Int64(max(first, 2 * count)))))
    }
    data.withUnsafeBufferPointer { bytes.append(contentsOf: $0) }
  }

  /// Hands over the whole body.
  mutating func finish() -> HTTPRequest.Body {
    precondition(isComplete, "a body is handed over before its end")
    guard let file else { return .bytes(bytes) }
    self.file = nil
    return .file(file.handOver())
  }
}
