import CLinux
import Glibc

/// A `multipart/form-data` body in a file (RFC 7578).
enum MultipartFile {
  private static let partHeadBytesMax: Int64 = 16_384
  private static let partsMax = 100

  static func isMultipart(_ contentType: String?) -> Bool {
    contentType?.lowercased().hasPrefix("multipart/form-data") ?? false
  }

  /// The boundary of a multipart content type; `nil` for any other type.
  static func boundary(ofContentType contentType: String?) throws(AssetFolderError) -> String? {
    guard let contentType, isMultipart(contentType) else { return nil }
    for parameter in contentType.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased().filter({ $0 != " " }) == "boundary" else { continue }
      var text = parts[1]
      while text.last == " " { text.removeLast() }
      if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
      guard (1...200).contains(text.utf8.count) else { break }
      return String(text)
    }
    throw .malformed("the multipart body has no boundary")
  }

  /// Replaces the body by the bytes of its first part with a file name, or of its first part if none has one.
  static func reduce(_ path: String, boundary: String) throws(AssetFolderError) {
    let part: Range<Int64>
    do {
      let file = try OpenFile(path, O_RDONLY)
      part = try chosenPart(of: file, boundary: boundary)
    }
    let source = try OpenFile(path, O_RDONLY)
    let reduced = path + "-part"
    do throws(AssetFolderError) {
      let target = try OpenFile(reduced, O_WRONLY | O_CREAT | O_TRUNC)
      try source.forEachBlock(from: part.lowerBound, to: part.upperBound) { (block) throws(AssetFolderError) in
        try target.write(block)
      }
      guard rename(reduced, path) == 0 else { throw AssetFolderError.last(path) }
    } catch {
      unlink(reduced)
      throw error
    }
  }

  private static func chosenPart(
    of file: borrowing OpenFile, boundary: String
  ) throws(AssetFolderError) -> Range<Int64> {
    let opening = Array("--\(boundary)".utf8)
    let delimiter = Array("\r\n--\(boundary)".utf8)
    var position: Int64
    if try bytes(of: file, at: 0, count: opening.count) == opening {
      position = Int64(opening.count)
    } else if let found = try find(delimiter, in: file, from: 0) {
      position = found + Int64(delimiter.count)
    } else {
      throw .malformed("the multipart body does not have the boundary that its type names")
    }
    var first: Range<Int64>?
    for _ in 0..<partsMax {
      if try bytes(of: file, at: position, count: 2) == Array("--".utf8) { break }
      let part = try part(of: file, at: position, delimiter: delimiter)
      if part.hasFileName { return part.range }
      first = first ?? part.range
      position = part.range.upperBound + Int64(delimiter.count)
    }
    guard let first else { throw .malformed("the multipart body has no part") }
    return first
  }

  private static func part(
    of file: borrowing OpenFile, at position: Int64, delimiter: [UInt8]
  ) throws(AssetFolderError) -> (range: Range<Int64>, hasFileName: Bool) {
    // The line of the boundary ends with CR LF, and so does each line of the head; an empty line ends the head.
    guard let headEnd = try find(Array("\r\n\r\n".utf8), in: file, from: position),
      headEnd - position < partHeadBytesMax
    else { throw .malformed("the head of a part in the multipart body does not end") }
    let head = try bytes(of: file, at: position, count: Int(headEnd - position))
    let start = headEnd + 4
    // An empty part's delimiter may share the line break that ends the head.
    guard let end = try find(delimiter, in: file, from: start - 2) else {
      throw .malformed("a part of the multipart body does not end")
    }
    let text = String(decoding: head, as: UTF8.self).lowercased()
    return (min(start, end)..<max(end, min(start, end)), text.contains("filename"))
  }

  private static func bytes(
    of file: borrowing OpenFile, at position: Int64, count: Int
  ) throws(AssetFolderError) -> [UInt8] {
    var bytes: [UInt8] = []
    try file.forEachBlock(from: position, to: position + Int64(count)) { bytes += $0 }
    return bytes
  }

  /// The first place of `pattern` at or after `start`.
  private static func find(
    _ pattern: [UInt8], in file: borrowing OpenFile, from start: Int64
  ) throws(AssetFolderError) -> Int64? {
    let window = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { window.deallocate() }
    var position = start
    // The last bytes of a window may begin what the next one ends, so windows overlap.
    var kept = 0
    while true {
      let room = UnsafeMutableRawBufferPointer(rebasing: window[kept...])
      let count = try file.read(at: position + Int64(kept), into: room, atMost: .max)
      if count == 0 { return nil }
      let filled = kept + count
      if let found = memmem(window.baseAddress, filled, pattern, pattern.count), let base = window.baseAddress {
        return position + Int64(UnsafeRawPointer(found) - UnsafeRawPointer(base))
      }
      kept = min(filled, pattern.count - 1)
      if let base = window.baseAddress { memmove(base, base + filled - kept, kept) }
      position += Int64(filled - kept)
    }
  }
}
