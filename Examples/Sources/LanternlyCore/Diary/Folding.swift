import Foundation
import Synchronization

/// Text as searches compare it: without case, accents and zero-width spaces, which stand around emphasis in imported texts.
struct Folding {
  private var bytes: [UInt8] = []

  init() {}

  init(_ text: String) { append(text) }

  /// Adds a text that is searched apart from the others.
  mutating func add(_ text: String) {
    append(text)
    bytes.append(0x0A)
  }

  private mutating func append(_ text: String) {
    bytes.reserveCapacity(bytes.count + text.utf8.count + 1)
    var text = text
    let isPlain = text.withUTF8 { source in
      for byte in source {
        if byte >= 0x80 { return false }
        bytes.append(0x41...0x5A ~= byte ? byte | 0x20 : byte)
      }
      return true
    }
    if isPlain { return }
    // What was appended up to the first other letter stays; the rest goes letter by letter.
    let done = text.utf8.prefix { $0 < 0x80 }.count
    for scalar in text.unicodeScalars[text.unicodeScalars.index(text.startIndex, offsetBy: done)...] {
      if scalar.value < 0x80 {
        let byte = UInt8(scalar.value)
        bytes.append(0x41...0x5A ~= byte ? byte | 0x20 : byte)
      } else {
        bytes += Self.folded(scalar)
      }
    }
  }

  func contains(_ word: Folding) -> Bool {
    let word = word.bytes
    guard let first = word.first else { return true }
    guard word.count <= bytes.count else { return false }
    return bytes.withUnsafeBufferPointer { bytes in
      word.withUnsafeBufferPointer { word in
        var start = 0
        let last = bytes.count - word.count
        while start <= last {
          if bytes[start] == first {
            var count = 1
            while count < word.count && bytes[start + count] == word[count] { count += 1 }
            if count == word.count { return true }
          }
          start += 1
        }
        return false
      }
    }
  }

  /// Foundation folds a letter well and slowly, and a diary has few different ones.
  private static let known = Mutex<[Unicode.Scalar: [UInt8]]>([:])

  private static func folded(_ scalar: Unicode.Scalar) -> [UInt8] {
    known.withLock { known in
      if let bytes = known[scalar] { return bytes }
      let text = String(scalar).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
      let letters = text.decomposedStringWithCanonicalMapping.unicodeScalars.filter { !isMark($0) }
      let bytes = Array(String(String.UnicodeScalarView(letters)).utf8)
      known[scalar] = bytes
      return bytes
    }
  }

  private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: scalar == "\u{200B}"
    }
  }
}
