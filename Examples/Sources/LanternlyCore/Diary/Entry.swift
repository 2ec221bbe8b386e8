import Foundation

/// The name of an entry's record: 32 hex digits.
package struct EntryID: Hashable, Comparable, Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  package static func < (left: EntryID, right: EntryID) -> Bool { left.name < right.name }

  /// A name for an entry that another program made, the same on every device that imports it.
  package static func imported(uuid: String) -> EntryID {
    let hex = uuid.lowercased().filter { $0 != "-" }
    let isHex = hex.count == 32 && hex.utf8.allSatisfy { 48...57 ~= $0 || 97...102 ~= $0 }
    return EntryID(isHex ? hex : Digest.name(of: ["dayone", uuid]))
  }

  /// The name of the entry that keeps a text beside another one: the same on two devices that fork at once.
  package static func fork(of entry: EntryID, texts: (String, String)) -> EntryID {
    let digests = [Digest.sha256(texts.0), Digest.sha256(texts.1)].sorted()
    return EntryID(Digest.name(of: ["fork", entry.name] + digests))
  }
}

extension EntryID: Codable {
  package init(from decoder: any Decoder) throws { name = try decoder.singleValueContainer().decode(String.self) }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(name)
  }
}

/// What one entry of the diary says. Its attachments are values of their own, tied to it by its name.
package struct Entry: Hashable, Sendable, Codable {
  /// Markdown. Attachments stand in it as `![](attachment:NAME)`, other entries as `entry:NAME`.
  package var text: String
  package var written: Written
  package var isStarred = false
  /// 1...5, or nothing.
  package var mood: Int?
  /// Each tag with the moment it was last added, so that adding again wins over a removal elsewhere.
  package var tags: [String: Moment] = [:]
  package var place: Place?
  package var weather: Weather?
  /// A deleted entry keeps its record without content: devices that were away learn of it, and an edit that was made
  /// meanwhile meets a conflict instead of vanishing.
  package var isDeleted = false
  /// The entry whose text was changed on two devices at once; this one keeps the other text.
  package var copyOf: EntryID?
  package var origin: Origin?
  /// The name of the device that last changed the text.
  package var device = ""
  package var edited: EditTimes

  package init(text: String, written: Written, edited: EditTimes) {
    self.text = text
    self.written = written
    self.edited = edited
  }

  /// The last edit of any field.
  package var modified: Moment { edited.latest }

  package var tagNames: [String] { tags.keys.sorted() }

  /// About how many bytes of text a record holds: encrypted bytes grow by a third on the way into its megabyte.
  package static let textBytesMax = 780_000

  package var isTooLongToSync: Bool { text.utf8.count > Self.textBytesMax }

  /// The first line that says something, without Markdown's signs and with the words of links only; the first line as it is
  /// where there are only signs.
  package var title: String {
    var signs = ""
    var rest = text[...]
    while !rest.isEmpty {
      let end = rest.firstIndex(where: \.isNewline)
      let line = Self.withoutLinks(rest[..<(end ?? rest.endIndex)])
      rest = end.map { rest[rest.index(after: $0)...] } ?? ""
      let words = line.drop { "#>-* ".contains($0) }.filter { !"*`\u{200B}".contains($0) }
      if words.contains(where: { !$0.isWhitespace }) { return words.trimmingCharacters(in: .whitespaces) }
      if signs.isEmpty { signs = line.filter { !$0.isWhitespace && $0 != "\u{200B}" } }
    }
    return signs
  }

  /// `![view](attachment:…)` and `[view](https://…)` become `view`.
  private static func withoutLinks(_ line: Substring) -> Substring {
    guard line.contains("](") else { return line }
    var result = ""
    var rest = line
    while let open = rest.firstIndex(of: "[") {
      let words = rest[rest.index(after: open)...]
      guard let middle = words.firstRange(of: "]("), let close = words[middle.upperBound...].firstIndex(of: ")"),
        !words[..<middle.lowerBound].contains("[")
      else {
        result += rest[...open]
        rest = words
        continue
      }
      let before = rest[..<open]
      result += before.hasSuffix("!") ? before.dropLast() : before
      result += words[..<middle.lowerBound]
      rest = words[words.index(after: close)...]
    }
    return (result + rest)[...]
  }

  /// The entry without its content, as its record stays after a deletion.
  package func deleted(at moment: Moment, device: String) -> Entry {
    var entry = Entry(text: "", written: written, edited: edited)
    entry.isDeleted = true
    entry.edited.deleted = moment.after(edited.deleted)
    entry.origin = origin
    entry.device = device
    return entry
  }
}

/// When each field that merges by itself was last edited.
///
/// An edit is later than the one before it, and a merge as late as the later side, whatever the clocks say: what was made from
/// another version is nowhere earlier.
package struct EditTimes: Hashable, Sendable, Codable {
  package var text = Moment.never
  package var written = Moment.never
  package var starred = Moment.never
  package var mood = Moment.never
  package var place = Moment.never
  package var weather = Moment.never
  package var deleted = Moment.never
  package var copyOf = Moment.never

  package init(all moment: Moment) {
    (text, written, starred, mood) = (moment, moment, moment, moment)
    (place, weather, deleted, copyOf) = (moment, moment, moment, moment)
  }

  /// In a fixed order, as the record keeps them; new fields go to the end.
  package var list: [Moment] { [text, written, starred, mood, place, weather, deleted, copyOf] }

  package init(list: [Moment]) {
    func at(_ index: Int) -> Moment { index < list.count ? list[index] : .never }
    (text, written, starred, mood) = (at(0), at(1), at(2), at(3))
    (place, weather, deleted, copyOf) = (at(4), at(5), at(6), at(7))
  }

  package var latest: Moment { list.max() ?? .never }

  /// Whether the other version may have been made from this one.
  package func isNowhereLater(than other: EditTimes) -> Bool { zip(list, other.list).allSatisfy { $0 <= $1 } }

  /// Whether the deleted version was this one, as far as times can tell.
  package func isDeletion(of other: EditTimes) -> Bool {
    var times = self
    times.deleted = other.deleted
    return times == other && deleted > other.deleted
  }

  /// The same edits, made after those of another version.
  package func following(_ base: EditTimes) -> EditTimes {
    EditTimes(list: zip(list, base.list).map { $0 == $1 ? $0 : $0.after($1) })
  }
}

/// Where an entry was written.
package struct Place: Hashable, Sendable, Codable {
  package var name: String?
  package var locality: String?
  package var region: String?
  package var country: String?
  /// Degrees.
  package var latitude: Double?
  package var longitude: Double?

  package init() {}

  /// `Example Tower, Berlin, Germany`: what is known, from near to far.
  package var line: String {
    var parts: [String] = []
    for case .some(let part) in [name, locality, region, country] where !part.isEmpty && !parts.contains(part) {
      parts.append(part)
    }
    return parts.joined(separator: ", ")
  }
}

package struct Weather: Hashable, Sendable, Codable {
  package var celsius: Double?
  package var conditions: String?
  package var code: String?
  /// Percent.
  package var humidity: Double?
  /// Hectopascals.
  package var pressure: Double?
  /// Kilometres per hour, and degrees clockwise from north.
  package var windSpeed: Double?
  package var windBearing: Double?

  package init() {}
}

/// The entry of another program that an entry was imported from.
package struct Origin: Hashable, Sendable, Codable {
  /// `dayone:` and the uuid there.
  package var source: String
  /// When it had last been modified there.
  package var modified: Moment

  package init(source: String, modified: Moment) {
    self.source = source
    self.modified = modified
  }
}
