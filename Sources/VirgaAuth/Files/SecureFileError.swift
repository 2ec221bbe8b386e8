import Glibc

/// Why a file that holds secrets or settings cannot be used.
package enum SecureFileError: Error, Hashable, Sendable, CustomStringConvertible {
  case unreadable(path: String, reason: String)
  case unwritable(path: String, reason: String)
  /// The disk, or the user's share of it, has no room for the file.
  case full(path: String)
  /// Others than its owner may read it.
  case tooOpen(path: String, mode: UInt32)
  case damaged(path: String, reason: String)

  package var description: String {
    switch self {
    case .unreadable(let path, let reason): "cannot read \(path): \(reason)"
    case .unwritable(let path, let reason): "cannot write \(path): \(reason)"
    case .full(let path): "cannot write \(path): the disk is full"
    case .tooOpen(let path, let mode):
      "\(path) is open to other users (mode \(String(mode, radix: 8))); close it with: chmod go-rwx '\(path)'"
    case .damaged(let path, let reason): "\(path) is damaged: it \(reason)"
    }
  }
}
