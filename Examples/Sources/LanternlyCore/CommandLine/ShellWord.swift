import Foundation

extension String {
  /// The text as one word of a shell.
  var asShellWord: String {
    let isPlain = !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || "/._-+,@%".contains($0) }
    return isPlain ? self : "'" + replacingOccurrences(of: "'", with: #"'\''"#) + "'"
  }
}
