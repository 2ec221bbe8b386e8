/// Writes pictures in the PNG format, without compression.
enum PNG {
  /// A picture of a landscape whose colours follow from the seed. Its bytes are about 3 × width × height.
  static func picture(width: Int, height: Int, seed: UInt64) -> [UInt8] {
    var random = Noise(seed)
    let sky = (0..<3).map { _ in Int(random.next() % 128) + 100 }
    let ground = (0..<3).map { _ in Int(random.next() % 128) }
    let horizon = height / 3 + Int(random.next() % UInt64(max(1, height / 3)))
    var rows: [UInt8] = []
    rows.reserveCapacity((width * 3 + 1) * height)
    for y in 0..<height {
      rows.append(0)  // no filter
      for _ in 0..<width {
        let grain = Int(random.next() % 16)
        for channel in 0..<3 { rows.append(UInt8((y < horizon ? sky : ground)[channel] + grain)) }
      }
    }
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    file += chunk("IHDR", bigEndian(UInt32(width)) + bigEndian(UInt32(height)) + [8, 2, 0, 0, 0])
    file += chunk("IDAT", zlib(rows))
    file += chunk("IEND", [])
    return file
  }

  private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
    let body = Array(type.utf8) + data
    return bigEndian(UInt32(data.count)) + body + bigEndian(crc32(body))
  }

  /// The bytes in stored blocks, which every inflater reads.
  private static func zlib(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [0x78, 0x01]
    var position = 0
    repeat {
      let count = min(65535, bytes.count - position)
      let isLast = position + count == bytes.count
      let (low, high) = (UInt8(count & 255), UInt8(count >> 8))
      result += [isLast ? 1 : 0, low, high, ~low, ~high]
      result += bytes[position..<position + count]
      position += count
    } while position < bytes.count
    return result + bigEndian(adler32(bytes))
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
  }

  private static func adler32(_ bytes: [UInt8]) -> UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    for byte in bytes {
      low = (low + UInt32(byte)) % 65521
      high = (high + low) % 65521
    }
    return high << 16 | low
  }

  private static let table: [UInt32] = (0..<256).map { index in
    (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1 }
  }

  private static func crc32(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { value, byte in table[Int((value ^ UInt32(byte)) & 255)] ^ (value >> 8) }
  }
}

/// Numbers that follow from a seed (SplitMix64).
struct Noise {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
