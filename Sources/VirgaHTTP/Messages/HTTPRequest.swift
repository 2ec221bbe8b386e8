import VirgaAuth

/// Names and values of header fields in the order they came; names compare without regard to case.
public struct HTTPHeaders: Sendable, Hashable {
  public private(set) var fields: [(name: String, value: String)] = []

  public init() {}
  public init(_ fields: [(String, String)]) { self.fields = fields.map { (name: $0.0, value: $0.1) } }

  /// The first value of that name.
  public subscript(name: String) -> String? {
    fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
  }

  func last(named name: String) -> String? {
    fields.last { $0.name.equalsIgnoringASCIICase(name) }?.value
  }

  public mutating func append(_ name: String, _ value: String) {
    // Most messages have a few fields; one allocation for them instead of one each time their number doubles.
    if fields.isEmpty { fields.reserveCapacity(8) }
    fields.append((name: name, value: value))
  }

  public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
    left.fields.elementsEqual(right.fields) { $0 == $1 }
  }

  public func hash(into hasher: inout Hasher) {
    for field in fields {
      hasher.combine(field.name)
      hasher.combine(field.value)
    }
  }
}

extension String {
  func equalsIgnoringASCIICase(_ other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    let (mine, theirs) = (utf8Span.span, other.utf8Span.span)
    for index in mine.indices where ByteClass.lowercased(mine[index]) != ByteClass.lowercased(theirs[index]) {
      return false
    }
    return true
  }
}

/// The first line and the fields of a request.
public struct HTTPRequestHead: Sendable, Hashable {
  public var method: String
  /// The target as it was sent, always beginning with `/`: path and query, still percent-encoded.
  public var target: String
  public var headers: HTTPHeaders

  public init(method: String, target: String, headers: HTTPHeaders = HTTPHeaders()) {
    self.method = method
    self.target = target
    self.headers = headers
  }

  /// The target without its query, still percent-encoded.
  public var path: Substring { target[...].divided(at: UInt8(ascii: "?"))?.before ?? target[...] }
}

/// A whole request, its body read.
public struct HTTPRequest: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    /// A body that was streamed into a file, which the handler owns from now on and must move or remove.
    case file(StreamedBody)
  }

  /// How much of a body anybody may send: what each connection has for nothing, so that strangers take no memory from
  /// the others. Large batches of records are what takes more.
  static let strangersBodyBytesMax = BodyMemory.freeBytes

  public var head: HTTPRequestHead
  public var body: Body
  /// The address of the peer, without its port.
  public var clientAddress: String

  public init(head: HTTPRequestHead, body: Body = .bytes([]), clientAddress: String = "127.0.0.1") {
    self.head = head
    self.body = body
    self.clientAddress = clientAddress
  }
}

/// Where a streamed body went.
public struct StreamedBody: Sendable, Hashable {
  public var path: String
  public var size: Int64
  /// The SHA-256 of its bytes, if the body's plan asked for it.
  public var digest: [UInt8]?
  public init(path: String, size: Int64, digest: [UInt8]? = nil) {
    self.path = path
    self.size = size
    self.digest = digest
  }
}
