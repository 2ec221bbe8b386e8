/// The text of an entry that came with its formatting only.
enum DayOneRichText {
  /// The words, headings and embedded objects as Markdown; `nil` if it is not Day One's JSON.
  static func plain(_ richText: String) -> String? {
    var room = LooseValue.bytesMax
    guard let value = try? LooseValue(JSONReader(Array(richText.utf8)), room: &room),
      let contents = LooseObject(value)?.array("contents")
    else { return nil }
    var result = ""
    for case .some(let part) in contents.map({ LooseObject($0) }) {
      if let text = part.text("text") {
        let line = part.object("attributes")?.object("line")
        let level = min(6, max(0, line?.int("header") ?? 0))
        let isLineStart = result.isEmpty || result.hasSuffix("\n")
        if level > 0 && isLineStart && text != "\n" { result += String(repeating: "#", count: level) + " " }
        result += text
      }
      for case .some(let object) in (part.array("embeddedObjects") ?? []).map({ LooseObject($0) }) {
        result += embedded(object)
      }
    }
    return result
  }

  private static func embedded(_ object: LooseObject) -> String {
    switch object.string("type") {
    case "horizontalRuleLine": return "\n---\n"
    case "markdown": return object.text("contents") ?? ""
    case let kind:
      guard let identifier = object.string("identifier") else { return "" }
      return "\n![](dayone-moment:/\(kind ?? "photo")/\(identifier))\n"
    }
  }
}
