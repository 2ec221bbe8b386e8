/// What anybody can read of a value that a device encrypted: how, under which key, and what type the value has.
///
/// The value travels as encrypted bytes that begin with this head: six bytes that tell it from other bytes, one for the
/// algorithm, one for the type, sixteen for the key. Nonce, ciphertext and tag follow. The type is there so that a server
/// can hold the value to its schema; the head is authenticated with the value.
public struct SealedValueHead: Hashable, Sendable {
  /// How a value is encrypted.
  public enum Algorithm: UInt8, Hashable, Sendable {
    case xChaCha20Poly1305 = 1
  }

  /// Bytes of the head.
  public static let byteCount = magic.count + 2 + KeyID.byteCount
  /// "VirgaSV1" is the Base64 of these bytes, so that a sealed value can be told in JSON without decoding it.
  static let magic: [UInt8] = [0x56, 0x2a, 0xe0, 0x69, 0x25, 0x75]
  /// What the Base64 of every sealed value begins with.
  public static let base64Prefix = "VirgaSV1"

  /// How the value is encrypted.
  public var algorithm: Algorithm
  /// `nil` for an empty list of no known type.
  public var type: FieldType?
  /// The key that opens the value.
  public var key: KeyID

  /// - Parameter type: Encrypted or not; only its scalar and whether it is a list count.
  public init(_ algorithm: Algorithm = .xChaCha20Poly1305, type: FieldType?, key: KeyID) {
    self.algorithm = algorithm
    self.type = type.map { FieldType($0.scalar, isList: $0.isList, isEncrypted: true) }
    self.key = key
  }

  /// Reads the head of a sealed value.
  /// - Returns: `nil` for bytes that are none, or that a later version sealed.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.byteCount, bytes.starts(with: Self.magic),
      let algorithm = Algorithm(rawValue: bytes[Self.magic.count])
    else { return nil }
    let code = bytes[Self.magic.count + 1]
    if code == 0 {
      type = nil
    } else {
      guard let scalar = Self.scalars.first(where: { $0.code == code & 0x3f })?.scalar, code & 0x80 == 0 else {
        return nil
      }
      type = FieldType(scalar, isList: code & Self.listBit != 0, isEncrypted: true)
    }
    self.algorithm = algorithm
    key = KeyID(bytes: bytes[(Self.magic.count + 2)..<Self.byteCount])
  }

  /// - Precondition: The key's name is well formed.
  public var bytes: [UInt8] {
    var code: UInt8 = 0
    if let type {
      code = (Self.scalars.first { $0.scalar == type.scalar }?.code ?? 0) | (type.isList ? Self.listBit : 0)
    }
    guard let key = key.bytes else { preconditionFailure("a key's name has 32 hexadecimal digits") }
    return Self.magic + [algorithm.rawValue, code] + key
  }

  private static let listBit: UInt8 = 0x40
  private static let scalars: [(scalar: FieldType.Scalar, code: UInt8)] = [
    (.string, 1), (.int64, 2), (.double, 3), (.timestamp, 4), (.bytes, 5), (.location, 6), (.reference, 7), (.asset, 8),
  ]
}

extension Field {
  /// The head of a value that a device encrypted; `nil` for any other.
  public var sealedHead: SealedValueHead? {
    guard isEncrypted, case .bytes(let bytes) = value else { return nil }
    return SealedValueHead(bytes)
  }
}
