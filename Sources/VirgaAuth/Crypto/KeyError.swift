import COpenSSL

/// Why a key cannot be used.
package enum KeyError: Error, Hashable, Sendable, CustomStringConvertible {
  case unreadable
  /// It is a key, but not on the curve P-256.
  case notP256
  /// OpenSSL failed for want of memory or of the algorithm.
  case library

  package var description: String {
    switch self {
    case .unreadable: "the key cannot be read"
    case .notP256: "the key is not on the curve P-256"
    case .library: "the cryptography library failed"
    }
  }
}
