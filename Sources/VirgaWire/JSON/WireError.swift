/// Why a JSON text could not be read as what it should be.
public struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
  public enum Kind: Hashable, Sendable {
    /// The text is not JSON, or passes a limit; reading cannot go on.
    case syntax
    /// The text is JSON so far, of another shape than expected; a reader may skip the value and go on.
    case mismatch
  }

  public var kind: Kind
  /// Where, in bytes from the beginning of the text.
  public var offset: Int
  /// What should have stood there, as "a string" or "type TIMESTAMP".
  public var expected: String

  public init(_ kind: Kind, offset: Int, expected: String) {
    self.kind = kind
    self.offset = offset
    self.expected = expected
  }

  public var description: String { "expected \(expected) at byte \(offset)" }
}

extension ServiceError {
  /// The protocol's answer to a request that cannot be read.
  public init(_ error: WireError) {
    self.init(.badRequest, "Unexpected input at byte \(error.offset): expected \(error.expected)")
  }
}
