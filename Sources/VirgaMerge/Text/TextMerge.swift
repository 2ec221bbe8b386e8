import VirgaModel

/// Three-way merge of texts: by lines, and by words in lines that both sides changed. It gives the same result whichever side is
/// called mine.
public enum TextMerge {
  /// - Returns: `nil` if both sides changed the same words, or words that touch: joining them would be a guess.
  public static func merge(ancestor: String, mine: String, theirs: String) -> String? {
    let texts = (Array(ancestor.unicodeScalars), Array(mine.unicodeScalars), Array(theirs.unicodeScalars))
    return merge(texts.0[...], texts.1[...], texts.2[...], by: .lines).map { scalars in
      var text = String.UnicodeScalarView()
      text.append(contentsOf: scalars)
      return String(text)
    }
  }

  static func merged(_ values: ConflictingValues) -> String? {
    guard case .string(let mine)? = values.mine, case .string(let theirs)? = values.server else { return nil }
    guard case .string(let ancestor) = values.ancestor ?? .string("") else { return nil }
    return merge(ancestor: ancestor, mine: mine, theirs: theirs)
  }

  /// The most pairs of lines or words that are compared in detail; beyond it what differs counts as one change.
  static let comparedPairsMax = 4_000_000

  private enum Unit { case lines, words }

  // By scalars, because a carriage return and a line feed are one character, and two spellings of one text are equal strings.
  private typealias Scalars = ArraySlice<Unicode.Scalar>

  private static func merge(_ ancestor: Scalars, _ mine: Scalars, _ theirs: Scalars, by unit: Unit) -> [Unicode.Scalar]?
  {
    if mine == theirs || theirs == ancestor { return Array(mine) }
    if mine == ancestor { return Array(theirs) }
    let base = pieces(ancestor, by: unit)
    let ours = changes(from: base, to: pieces(mine, by: unit))
    let others = changes(from: base, to: pieces(theirs, by: unit))
    var result: [Unicode.Scalar] = []
    var position = 0
    for hunk in hunks(ours, others) {
      for piece in base[position..<hunk.base.lowerBound] { result += piece }
      guard let merged = merged(hunk, base, by: unit) else { return nil }
      result += merged
      position = hunk.base.upperBound
    }
    for piece in base[position...] { result += piece }
    return result
  }

  /// Lines keep their line feed; words and what stands between them are pieces of their own.
  private static func pieces(_ text: Scalars, by unit: Unit) -> [Scalars] {
    var pieces: [Scalars] = []
    var start = text.startIndex
    var wasWord = false
    for index in text.indices {
      let scalar = text[index]
      switch unit {
      case .lines:
        guard scalar == "\n" else { continue }
        pieces.append(text[start...index])
        start = text.index(after: index)
      case .words:
        let isWord = scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        if index > start, !(isWord && wasWord) {
          pieces.append(text[start..<index])
          start = index
        }
        wasWord = isWord
      }
    }
    if start < text.endIndex { pieces.append(text[start...]) }
    return pieces
  }

  /// Pieces of the base that one side replaced. An empty range is an insertion before its bound.
  private struct Change: Equatable {
    var base: Range<Int>
    var pieces: [Scalars]
  }

  /// A stretch of the base that one side changed, or both, with the changes of each.
  private struct Hunk {
    var base: Range<Int>
    var ours: [Change] = []
    var others: [Change] = []
  }

  private static func changes(from base: [Scalars], to other: [Scalars]) -> [Change] {
    var start = 0
    while start < min(base.count, other.count), base[start] == other[start] { start += 1 }
    var (baseEnd, otherEnd) = (base.count, other.count)
    while baseEnd > start, otherEnd > start, base[baseEnd - 1] == other[otherEnd - 1] {
      baseEnd -= 1
      otherEnd -= 1
    }
    if start == baseEnd && start == otherEnd { return [] }
    if (baseEnd - start) * (otherEnd - start) > comparedPairsMax {
      return [Change(base: start..<baseEnd, pieces: Array(other[start..<otherEnd]))]
    }
    return detailed(from: base[start..<baseEnd], to: other[start..<otherEnd])
  }

  private static func detailed(from base: ArraySlice<Scalars>, to other: ArraySlice<Scalars>) -> [Change] {
    var isRemoved = [Bool](repeating: false, count: base.count)
    var isInserted = [Bool](repeating: false, count: other.count)
    for step in Array(other).difference(from: Array(base)) {
      switch step {
      case .remove(let index, _, _): isRemoved[index] = true
      case .insert(let index, _, _): isInserted[index] = true
      }
    }
    var changes: [Change] = []
    var (old, new) = (0, 0)
    while old < base.count || new < other.count {
      let (oldStart, newStart) = (old, new)
      while old < base.count, isRemoved[old] { old += 1 }
      while new < other.count, isInserted[new] { new += 1 }
      if old > oldStart || new > newStart {
        let pieces = Array(other[other.startIndex + newStart..<other.startIndex + new])
        changes.append(Change(base: base.startIndex + oldStart..<base.startIndex + old, pieces: pieces))
      } else {
        old += 1
        new += 1
      }
    }
    return changes
  }

  /// The changes of both in order; those that touch are in one hunk.
  private static func hunks(_ ours: [Change], _ others: [Change]) -> [Hunk] {
    let all = (ours.map { ($0, true) } + others.map { ($0, false) }).sorted {
      ($0.0.base.lowerBound, $0.0.base.upperBound) < ($1.0.base.lowerBound, $1.0.base.upperBound)
    }
    var hunks: [Hunk] = []
    for (change, isOurs) in all {
      if let last = hunks.last, change.base.lowerBound <= last.base.upperBound {
        hunks[hunks.count - 1].base = last.base.lowerBound..<max(last.base.upperBound, change.base.upperBound)
      } else {
        hunks.append(Hunk(base: change.base))
      }
      if isOurs { hunks[hunks.count - 1].ours.append(change) } else { hunks[hunks.count - 1].others.append(change) }
    }
    return hunks
  }

  private static func merged(_ hunk: Hunk, _ base: [Scalars], by unit: Unit) -> [Unicode.Scalar]? {
    let (ours, others) = (applied(hunk.ours, hunk.base, base), applied(hunk.others, hunk.base, base))
    if hunk.others.isEmpty || ours == others { return ours }
    if hunk.ours.isEmpty { return others }
    guard unit == .lines else { return nil }
    let before = base[hunk.base].flatMap { $0 }
    // Lines that nobody had before are no lines that both changed.
    guard !before.isEmpty else { return nil }
    return merge(before[...], ours[...], others[...], by: .words)
  }

  private static func applied(_ changes: [Change], _ range: Range<Int>, _ base: [Scalars]) -> [Unicode.Scalar] {
    var result: [Unicode.Scalar] = []
    var position = range.lowerBound
    for change in changes {
      for piece in base[position..<change.base.lowerBound] { result += piece }
      for piece in change.pieces { result += piece }
      position = change.base.upperBound
    }
    for piece in base[position..<range.upperBound] { result += piece }
    return result
  }
}
