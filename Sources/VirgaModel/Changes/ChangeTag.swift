/// A record's version: the zone's sequence number of its last change, in base 36. Clients treat it as opaque.
public struct ChangeTag: Identifier {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public init(sequence: Int64) { rawValue = String(sequence, radix: 36) }

  /// The sequence number, if the text is one of ours.
  public var sequence: Int64? {
    guard let number = Int64(rawValue, radix: 36), number > 0, String(number, radix: 36) == rawValue else { return nil }
    return number
  }
}
