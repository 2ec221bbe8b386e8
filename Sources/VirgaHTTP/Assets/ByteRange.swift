import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// What a `Range` field asks for (RFC 9110, section 14). Several ranges, and what is no range, ask for all.
enum ByteRange: Hashable {
  case whole
  case part(Range<Int64>)
  case unsatisfiable

  init(_ field: String?, size: Int64) {
    self = .whole
    guard let field, field.lowercased().hasPrefix("bytes=") else { return }
    let bounds = field.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
    guard bounds.count == 2, bounds.allSatisfy({ $0.utf8.allSatisfy { (48...57).contains($0) } }) else { return }
    switch (Int64(bounds[0]), Int64(bounds[1])) {
    case (let first?, let last?) where first <= last:
      self = first < size ? .part(first..<min(last, size - 1) + 1) : .unsatisfiable
    case (let first?, nil) where bounds[1].isEmpty: self = first < size ? .part(first..<size) : .unsatisfiable
    case (nil, let count?) where bounds[0].isEmpty:
      self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .unsatisfiable
    default: return
    }
  }
}
