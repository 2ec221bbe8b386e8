import COpenSSL

/// HMAC-SHA256 (RFC 2104).
package enum HMACSHA256 {
  package static func code(for message: [UInt8], key: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: SHA256.digestLength) { buffer, count in
      var length: UInt32 = 0
      let result = HMAC(
        Algorithm.sha256.pointer, key, Int32(key.count), message, message.count, buffer.baseAddress, &length)
      precondition(result != nil && Int(length) == SHA256.digestLength, "HMAC-SHA256 failed")
      count = SHA256.digestLength
    }
  }
}
