/// A record's version: the zone's sequence number of its last change, in base 36. Clients treat it as opaque.
public struct ChangeTag: Identifier {
  public let rawValue: String

  public init(rawValue: String) { self.rawValue = rawValue }

  public init(sequence: Int64) { rawValue = sequence > 0 ? Self.digits(of: sequence) : String(sequence, radix: 36) }

  /// The number to base 36. Each record of a page has one, and the library's general way takes some hundred instructions.
  private static func digits(of number: Int64) -> String {
    var count = 1
    var rest = number / 36
    while rest > 0 {
      count += 1
      rest /= 36
    }
    return String(unsafeUninitializedCapacity: count) { text in
      var rest = number
      for place in (0..<count).reversed() {
        let digit = UInt8(truncatingIfNeeded: rest % 36)
        text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
        rest /= 36
      }
      return count
    }
  }

  /// The sequence number, if the text is one of ours.
  public var sequence: Int64? {
    guard let number = Int64(rawValue, radix: 36), number > 0, String(number, radix: 36) == rawValue else { return nil }
    return number
  }
}
