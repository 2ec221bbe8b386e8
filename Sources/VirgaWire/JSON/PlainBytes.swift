/// How many bytes at the beginning are printable ASCII or DEL, and neither quotation mark nor backslash: those that a
/// JSON string may hold as they are. Looks at eight at a time.
func plainByteCount(_ bytes: UnsafeRawBufferPointer) -> Int {
  let count = bytes.count
  var position = 0
  while position + 8 <= count {
    let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
    let special = specialBytes(word)
    if special != 0 { return position + special.trailingZeroBitCount / 8 }
    position += 8
  }
  while position < count, isPlain(bytes[position]) { position += 1 }
  return position
}

@inline(__always)
private func isPlain(_ byte: UInt8) -> Bool {
  byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
}

/// The high bits of those of eight bytes that are not plain: a subtraction borrows into it from a byte that is too small,
/// and a byte that is equal to another becomes 0 by exclusive or. A byte above a special one may be accused wrongly; the
/// lowest never is, as nothing borrows from it.
@inline(__always)
private func specialBytes(_ word: UInt64) -> UInt64 {
  let ones: UInt64 = 0x0101_0101_0101_0101
  let highs: UInt64 = 0x8080_8080_8080_8080
  let control = word &- ones &* 0x20
  let quote = (word ^ ones &* UInt64(UInt8(ascii: "\""))) &- ones
  let backslash = (word ^ ones &* UInt64(UInt8(ascii: "\\"))) &- ones
  return (word | control | quote | backslash) & highs
}

/// Negative if the first differing byte of `left` is less than that of `right`, positive if it is greater, 0 if one begins
/// with the other.
func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
  for index in 0..<min(left.count, right.count) where left[index] != right[index] {
    return Int(left[index]) - Int(right[index])
  }
  return 0
}
