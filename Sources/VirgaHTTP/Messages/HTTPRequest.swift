import VirgaAuth

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
