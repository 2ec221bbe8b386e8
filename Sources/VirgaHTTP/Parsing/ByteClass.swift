/// The classes of bytes that RFC 9110 and RFC 9112 speak of.
enum ByteClass {
  /// A `tchar`: what names of methods and fields consist of.
  static func isToken(_ byte: UInt8) -> Bool { contains(byte, low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe) }

  /// A byte of a field's value: visible, white space, or part of a UTF-8 sequence.
  static func isFieldValue(_ byte: UInt8) -> Bool { byte >= 0x20 ? byte != 0x7f : byte == 0x09 }

  /// A byte of a target. Which of them a URL may hold is left to whoever decodes it.
  static func isTarget(_ byte: UInt8) -> Bool { byte > 0x20 && byte < 0x7f }

  /// A byte of `host [ ":" port ]`, the brackets of an IPv6 address included.
  static func isHost(_ byte: UInt8) -> Bool { contains(byte, low: 0x2fff_6ff2_0000_0000, high: 0x47ff_fffe_afff_fffe) }

  /// A byte of a host that is a name or an address, and its port: without the escapes and marks that RFC 3986 also allows.
  static func isPlainHost(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3a, 0x41...0x5b, 0x5d, 0x61...0x7a, 0x2d, 0x2e, 0x5f: true
    default: false
    }
  }

  static func isWhiteSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  /// One bit for each ASCII byte: `low` for 0...63, `high` for 64...127.
  private static func contains(_ byte: UInt8, low: UInt64, high: UInt64) -> Bool {
    byte < 64 ? low &>> UInt64(byte) & 1 == 1 : byte < 128 && high &>> UInt64(byte &- 64) & 1 == 1
  }
}
