/// Why a format cannot be read as a predicate, and where.
public struct PredicateFormatError: Error, Hashable, CustomStringConvertible {
  /// The whole format.
  public let format: String
  /// The character that the parser could not go on with, counted from 1; one past the end if something is missing there.
  public let position: Int
  /// What is wrong, as a sentence without its full stop.
  public let reason: String

  public var description: String {
    "Unable to parse the predicate format \"\(format)\" at character \(position): \(reason)."
  }
}
