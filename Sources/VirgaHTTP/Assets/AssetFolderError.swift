import CLinux
import Glibc
import VirgaAuth
import VirgaServer
import VirgaWire

/// Why the folder for assets cannot be used.
package enum AssetFolderError: Error, Hashable, Sendable, CustomStringConvertible {
  case full(path: String)
  case failed(path: String, reason: String)
  /// An upload that says it is multipart and is not.
  case malformed(String)

  package var description: String {
    switch self {
    case .full(let path): "no space is left for \(path)"
    case .failed(let path, let reason): "\(path): \(reason)"
    case .malformed(let reason): reason
    }
  }

  static func last(_ path: String) -> AssetFolderError {
    let code = errno
    return code == ENOSPC || code == EDQUOT
      ? .full(path: path) : .failed(path: path, reason: String(cString: strerror(code)))
  }
}
