/// The attachments that a text shows, in the order of the text.
struct AttachmentOrder {
  private var names: [String] = []

  init(text: String) {
    let mark = Array("attachment:".utf8)
    // Few texts hold any, and all of a list are asked.
    guard text.utf8.contains(UInt8(ascii: ":")) else { return }
    var rest = text.utf8[...]
    while let colon = rest.firstIndex(of: UInt8(ascii: ":")) {
      let after = rest.index(after: colon)
      let isMark = rest[..<after].suffix(mark.count).elementsEqual(mark)
      rest = rest[after...]
      guard isMark else { continue }
      let name = rest.prefix { 48...57 ~= $0 || 97...102 ~= $0 }
      if name.count == 32, let name = String(name), !names.contains(name) { names.append(name) }
    }
  }

  /// Those that the text shows first, then the others in their own order.
  func sorted(_ attachments: [StoredAttachment]) -> [StoredAttachment] {
    if attachments.count < 2 { return attachments }
    let place = Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
    func key(_ item: (offset: Int, element: StoredAttachment)) -> (Int, Int) {
      (place[item.element.attachment.id.name] ?? Int.max, item.offset)
    }
    return attachments.enumerated().sorted { key($0) < key($1) }.map(\.element)
  }

  /// Names that the text shows and the diary does not have: the export that it came from lacked their files.
  func missing(among attachments: [StoredAttachment]) -> [String] {
    if names.isEmpty { return [] }
    let known = Set(attachments.map(\.attachment.id.name))
    return names.filter { !known.contains($0) }
  }
}
