import VirgaModel

/// What can go wrong below the rules.
public enum StoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No space is left; the write was undone.
  case full(String)
  /// The disk failed to read, write or keep something; the write was undone.
  case diskFailed(String)
  /// The file is damaged or cannot be read.
  case damaged(String)
  /// The data were written by a newer version; the numbers are those of the layout.
  case newerVersion(found: Int, known: Int)
  /// Another process uses the data.
  case inUse(String)
  /// The place for the data cannot be written.
  case unwritable(String)
  /// Too much waits already; trying again later helps.
  case busy(String)
  case closed
  case other(String)

  public var description: String {
    switch self {
    case .full(let text), .diskFailed(let text), .damaged(let text), .inUse(let text), .unwritable(let text),
      .busy(let text), .other(let text):
      text
    case .newerVersion(let found, let known):
      "a newer version wrote the data (layout \(found), this version knows \(known))"
    case .closed: "the store is closed"
    }
  }
}
