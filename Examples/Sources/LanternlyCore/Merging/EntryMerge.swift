import Foundation

/// What comes of two edits of one entry.
package struct EntryMerge: Hashable, Sendable {
  /// A value that gave way to another one.
  package struct Loss: Hashable, Sendable {
    package enum Field: String, Sendable, CaseIterable {
      case text, written, starred, mood, place, weather, copyOf
    }
    package var field: Field
    /// The whole version that held the value.
    package var version: Entry
  }

  package var entry: Entry
  /// The other text, if both sides changed the same lines.
  package var fork: (id: EntryID, entry: Entry)?
  /// Values that both sides changed and of which the later was taken, in a fixed order.
  package var losses: [Loss] = []
  /// One side deleted the entry and the other one edited it: the edit stays.
  package var isDeletionUndone = false

  package static func == (left: EntryMerge, right: EntryMerge) -> Bool {
    left.entry == right.entry && left.fork?.id == right.fork?.id && left.fork?.entry == right.fork?.entry
      && left.losses == right.losses && left.isDeletionUndone == right.isDeletionUndone
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(entry)
    hasher.combine(fork?.id)
  }
}

extension EntryMerge {
  /// Merges field by field: what one side changed is taken; what both changed alike is that; what both changed
  /// differently is the later edit, for equal times the value with the greater bytes. Tags merge as a set, texts by
  /// lines; where texts cannot be joined both stay, the later in the entry and the other in a fork.
  /// Exchanging `mine` and `theirs` does not change the result.
  /// - Parameter base: What the server last acknowledged; `nil` if both sides began on their own.
  package static func merge(id: EntryID, base: Entry?, mine: Entry, theirs: Entry) -> EntryMerge {
    if mine == theirs { return EntryMerge(entry: mine) }
    if mine.isDeleted != theirs.isDeleted {
      return mergeDeletion(base: base, kept: mine.isDeleted ? theirs : mine, deleted: mine.isDeleted ? mine : theirs)
    }
    var merge = EntryMerge(entry: mine)
    var scalars = ScalarMerge(base: base, mine: mine, theirs: theirs)
    merge.entry.written = scalars.value(\.written, time: \.written, field: .written)
    merge.entry.isStarred = scalars.value(\.isStarred, time: \.starred, field: .starred)
    merge.entry.mood = scalars.value(\.mood, time: \.mood, field: .mood)
    merge.entry.place = scalars.value(\.place, time: \.place, field: .place)
    merge.entry.weather = scalars.value(\.weather, time: \.weather, field: .weather)
    merge.entry.copyOf = scalars.value(\.copyOf, time: \.copyOf, field: .copyOf)
    merge.entry.edited = scalars.times
    merge.entry.edited.deleted = max(mine.edited.deleted, theirs.edited.deleted)
    merge.entry.tags = mergeTags(base: base?.tags ?? [:], mine: mine.tags, theirs: theirs.tags)
    merge.entry.origin = [mine.origin, theirs.origin].compactMap(\.self).max {
      ($0.modified, $0.source) < ($1.modified, $1.source)
    }
    merge.losses = scalars.losses
    merge.mergeText(id: id, base: base, mine: mine, theirs: theirs)
    return merge
  }

  private static func mergeDeletion(base: Entry?, kept: Entry, deleted: Entry) -> EntryMerge {
    if let base, !base.isDeleted, kept == base { return EntryMerge(entry: deleted) }
    // The deletion is what both knew, and the other side brought the entry back.
    if let base, base.isDeleted, deleted == base { return EntryMerge(entry: kept) }
    // Nothing is known of what they began from, but nothing was edited since.
    if base == nil, deleted.edited.isDeletion(of: kept.edited) { return EntryMerge(entry: deleted) }
    var entry = kept
    entry.edited.deleted = max(kept.edited.deleted, deleted.edited.deleted)
    var merge = EntryMerge(entry: entry)
    merge.isDeletionUndone = true
    return merge
  }

  private static func mergeTags(
    base: [String: Moment], mine: [String: Moment], theirs: [String: Moment]
  ) -> [String: Moment] {
    var merged: [String: Moment] = [:]
    for tag in Set(mine.keys).union(theirs.keys) {
      switch (mine[tag], theirs[tag], base[tag]) {
      case (.some(let left), .some(let right), _): merged[tag] = max(left, right)
      case (.some(let time), nil, nil), (nil, .some(let time), nil): merged[tag] = time
      // One side removed it; it stays if the other one added it again.
      case (.some(let time), nil, .some(let before)), (nil, .some(let time), .some(let before)):
        if time > before { merged[tag] = time }
      case (nil, nil, _): break
      }
    }
    return merged
  }

  private mutating func mergeText(id: EntryID, base: Entry?, mine: Entry, theirs: Entry) {
    let isMineLater = ScalarMerge.isLater(
      (mine.edited.text, Array(mine.text.utf8)), (theirs.edited.text, Array(theirs.text.utf8)))
    let (later, earlier) = isMineLater ? (mine, theirs) : (theirs, mine)
    entry.edited.text = later.edited.text
    entry.device = Self.device(base: base, later: later, earlier: earlier)
    let outcome =
      base.map { TextMerge.merge(base: $0.text, mine: mine.text, theirs: theirs.text) }
      ?? (mine.text == theirs.text ? .merged(mine.text) : .conflict)
    switch outcome {
    case .merged(let text): entry.text = text
    case .conflict:
      entry.text = later.text
      losses.append(Loss(field: .text, version: earlier))
      fork = Self.fork(of: id, merged: entry, kept: earlier, texts: (mine.text, theirs.text))
    }
  }

  /// The device that last changed the text; of equal texts and times the greater name.
  private static func device(base: Entry?, later: Entry, earlier: Entry) -> String {
    if let base, later.text == base.text, earlier.text != base.text { return earlier.device }
    if later.edited.text == earlier.edited.text, later.text == earlier.text {
      return max(later.device, earlier.device)
    }
    return later.device
  }

  // Every value comes from the texts and the merged entry alone: a device that forks the same two texts makes the same
  // entry, and saving it twice is one entry.
  private static func fork(
    of id: EntryID, merged: Entry, kept: Entry, texts: (String, String)
  ) -> (id: EntryID, entry: Entry) {
    var copy = merged
    copy.text = kept.text
    copy.device = kept.device
    copy.copyOf = id
    copy.origin = nil
    copy.isStarred = false
    copy.edited = EditTimes(all: kept.edited.text)
    return (EntryID.fork(of: id, texts: texts), copy)
  }
}

/// The rule for fields that hold one value.
private struct ScalarMerge {
  var base: Entry?
  var mine: Entry
  var theirs: Entry
  var times: EditTimes
  var losses: [EntryMerge.Loss] = []

  init(base: Entry?, mine: Entry, theirs: Entry) {
    (self.base, self.mine, self.theirs) = (base, mine, theirs)
    times = mine.edited
  }

  mutating func value<Value: Hashable & Encodable>(
    _ value: KeyPath<Entry, Value>, time: WritableKeyPath<EditTimes, Moment>, field: EntryMerge.Loss.Field
  ) -> Value {
    let (left, right) = (mine[keyPath: value], theirs[keyPath: value])
    let (leftTime, rightTime) = (mine.edited[keyPath: time], theirs.edited[keyPath: time])
    times[keyPath: time] = max(leftTime, rightTime)
    if left == right { return left }
    if let base, base[keyPath: value] == left { return right }
    if let base, base[keyPath: value] == right { return left }
    let isMineLater = Self.isLater((leftTime, Self.bytes(left)), (rightTime, Self.bytes(right)))
    losses.append(EntryMerge.Loss(field: field, version: isMineLater ? theirs : mine))
    return isMineLater ? left : right
  }

  static func isLater(_ left: (Moment, [UInt8]), _ right: (Moment, [UInt8])) -> Bool {
    left.0 == right.0 ? right.1.lexicographicallyPrecedes(left.1) : left.0 > right.0
  }

  /// Any fixed order of values will do for equal times; encoded bytes give one.
  private static func bytes(_ value: some Encodable) -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    guard let data = try? encoder.encode([value]) else { preconditionFailure("a field's value cannot be encoded") }
    return Array(data)
  }
}
