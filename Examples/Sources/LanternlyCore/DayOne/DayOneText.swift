import Foundation

/// Turns the text of an exported entry into ours: links to media and entries, and escapes.
package struct DayOneText {
  /// What a link points to: the attachment's name and how to show it; `nil` if the entry has no such media.
  package typealias Target = (id: AttachmentID, kind: Attachment.Kind)

  let entry: EntryID
  let targets: [String: Target]
  /// Identifiers that the text names and the entry does not list, in the order of the text.
  package private(set) var unknown: [String] = []

  package init(entry: EntryID, targets: [String: Target]) {
    self.entry = entry
    self.targets = targets
  }

  package mutating func convert(_ text: String, hasEscapes: Bool) -> String {
    let linked = replaceLinks(in: text)
    return hasEscapes ? MarkdownEscapes.undone(linked) : linked
  }

  // Older versions of Day One and its converters escape parts of the link itself; `kind/` stands before some
  // identifiers. Every character that Markdown lets one escape may have its backslash here.
  private static let moment =
    #"dayone\\?-moment\\?:[\\/]*(?:([A-Za-z]+)[\\/]+)?([A-Za-z0-9][A-Za-z0-9_\\-]*)"#
  private static let links = pattern(#"\\?!?\\?\[([^\[\]\n]*?)\\?\]\\?\(\s*"# + moment + #"\s*\\?\)"#)
  private static let bareLinks = pattern("()" + moment)
  private static let remains = pattern(#"dayone\\?-moment\\?:[\\/]*"#)
  private static let entryLinks = pattern(#"dayone2?\\?:[\\/]+view\\?\?entryId\\?=([A-Za-z0-9-]+)"#)

  private static func pattern(_ text: String) -> NSRegularExpression {
    do {
      return try NSRegularExpression(pattern: text, options: .caseInsensitive)
    } catch {
      preconditionFailure("a pattern of this file is malformed: \(text)")
    }
  }

  private mutating func replaceLinks(in text: String) -> String {
    guard text.range(of: "dayone", options: .caseInsensitive) != nil else { return text }
    var result = text
    for pattern in [Self.links, Self.bareLinks] {
      result = Self.replace(pattern, in: result) { groups in link(groups) }
    }
    result = Self.replace(Self.entryLinks, in: result) { "entry:" + EntryID.imported(uuid: $0[0]).name }
    return Self.replace(Self.remains, in: result) { _ in "attachment:" }
  }

  private mutating func link(_ groups: [String]) -> String {
    let title = groups[0].hasSuffix("\\") ? String(groups[0].dropLast()) : groups[0]
    let identifier = groups[2].replacingOccurrences(of: "\\", with: "")
    if let target = targets[identifier] { return Attachment.link(target.id, kind: target.kind, title: title) }
    if !unknown.contains(identifier) { unknown.append(identifier) }
    // The name that the attachment gets if a later export brings it.
    let id = AttachmentID.imported(entry: entry, identifier: identifier)
    return Attachment.link(id, kind: Self.kind(groups[1]), title: title)
  }

  private static func kind(_ word: String) -> Attachment.Kind {
    switch word.lowercased() {
    case "video": .video
    case "audio": .audio
    case "pdf", "pdfattachment": .pdf
    default: .photo
    }
  }

  /// Replaces every match by what the closure makes of its groups.
  private static func replace(
    _ pattern: NSRegularExpression, in text: String, with replacement: ([String]) -> String
  ) -> String {
    let whole = text as NSString
    let matches = pattern.matches(in: text, range: NSRange(location: 0, length: whole.length))
    if matches.isEmpty { return text }
    var result = ""
    var position = 0
    for match in matches {
      result += whole.substring(with: NSRange(location: position, length: match.range.location - position))
      let groups = (1..<max(1, match.numberOfRanges)).map { index in
        let range = match.range(at: index)
        return range.location == NSNotFound ? "" : whole.substring(with: range)
      }
      result += replacement(groups)
      position = match.range.location + match.range.length
    }
    return result + whole.substring(from: position)
  }
}
