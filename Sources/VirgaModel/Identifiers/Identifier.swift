/// A name in the model: text with a type of its own, so that two names of different kinds cannot be confused.
///
/// Equality and order are those of the bytes: two spellings of an accented letter, which `String` takes for equal, are two
/// names (see `NameRule`).
public protocol Identifier: RawRepresentable, Hashable, Comparable, Sendable, Codable, ExpressibleByStringLiteral,
  CustomStringConvertible
where RawValue == String {
  init(rawValue: String)
}

extension Identifier {
  @inlinable
  public init(_ rawValue: String) { self.init(rawValue: rawValue) }

  public init(stringLiteral value: String) { self.init(rawValue: value) }

  public init(from decoder: any Decoder) throws {
    self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(rawValue)
  }

  public var description: String { rawValue }

  @inlinable
  public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }

  @inlinable
  public func hash(into hasher: inout Hasher) { rawValue.hashBytes(into: &hasher) }

  /// The order of the bytes.
  @inlinable
  public static func < (left: Self, right: Self) -> Bool {
    left.rawValue.bytesPrecede(right.rawValue)
  }
}

extension String {
  /// Whether the bytes come before those of another text. The general comparison of two views takes ten times as long.
  @inlinable
  package func bytesPrecede(_ other: String) -> Bool {
    let isBefore = utf8.withContiguousStorageIfAvailable { mine in
      other.utf8.withContiguousStorageIfAvailable { theirs in
        let count = min(mine.count, theirs.count)
        var index = 0
        while index < count, mine[index] == theirs[index] { index += 1 }
        return index < count ? mine[index] < theirs[index] : mine.count < theirs.count
      }
    }
    if let isBefore, let isBefore { return isBefore }
    return utf8.lexicographicallyPrecedes(other.utf8)
  }

  /// Whether both are the same bytes. `==` takes texts for equal that differ in their Unicode form.
  @inlinable
  package func hasSameBytes(as other: String) -> Bool {
    // What `==` tells apart differs in its bytes too. ASCII, which has a unit for each byte and whose length is known,
    // needs no second look: what `==` takes for the same and is not ASCII is longer.
    self == other && utf8.count == other.utf8.count
      && (utf8.count == utf16.count || utf8.elementsEqual(other.utf8))
  }

  /// Feeds the bytes, and an end that no text holds: texts that only `==` takes for equal have different hashes.
  @inlinable
  package func hashBytes(into hasher: inout Hasher) {
    let isDone: Void? = utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    if isDone == nil { for byte in utf8 { hasher.combine(byte) } }
    hasher.combine(0xff as UInt8)
  }
}

/// A container's identifier, such as `iCloud.com.example.Diary`.
public struct ContainerID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// A user record's name: `_` and 32 lower-case hexadecimal digits, different in every container.
public struct UserName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The client's word for "whoever is signed in"; a server resolves it to the caller.
  public static let defaultOwner: UserName = "__defaultOwner__"
}

/// The name of a zone, unique in its private database.
public struct ZoneName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// The zone that every database has. It is not atomic and has no change feed.
  public static let `default`: ZoneName = "_defaultZone"
}

/// The name of a record, unique in its zone.
public struct RecordName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The type of a record, such as `Entry`.
public struct RecordType: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  /// User records: one for each user, in the default zone of the public database.
  public static let users: RecordType = "Users"
  /// Share records. The web service writes the name in lower case.
  public static let share: RecordType = "cloudkit.share"
}

/// The name of a field: an ASCII letter, then letters, digits and underscores.
public struct FieldName: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// The name of a subscription, unique for its user and database.
public struct SubscriptionID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// Who holds the data, whatever the container: an account is a set of device keys.
public struct AccountID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

/// One enrolled device key of an account.
public struct DeviceID: Identifier {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }
}

extension DefaultStringInterpolation {
  /// Keys are joined from names in every request; the general way through `description` takes ten times as long.
  public mutating func appendInterpolation(_ name: some Identifier) { appendInterpolation(name.rawValue) }

  /// The same.
  public mutating func appendInterpolation(_ environment: Environment) { appendInterpolation(environment.rawValue) }
}
