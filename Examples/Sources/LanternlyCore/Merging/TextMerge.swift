/// Three-way merge of texts by lines. It gives the same result whichever side is called mine.
package enum TextMerge {
  package enum Outcome: Hashable, Sendable {
    case merged(String)
    /// Both sides changed the same lines, or lines that touch: joining them would be a guess.
    case conflict
  }

  package static func merge(base: String, mine: String, theirs: String) -> Outcome {
    if mine == theirs || theirs == base { return .merged(mine) }
    if mine == base { return .merged(theirs) }
    let baseLines = lines(base)
    let changesOfMine = changes(from: baseLines, to: lines(mine))
    let changesOfTheirs = changes(from: baseLines, to: lines(theirs))
    guard let changes = union(changesOfMine, changesOfTheirs) else { return .conflict }
    var result: [Substring] = []
    var position = 0
    for change in changes {
      result += baseLines[position..<change.base.lowerBound]
      result += change.lines
      position = change.base.upperBound
    }
    result += baseLines[position...]
    return .merged(result.joined(separator: "\n"))
  }

  /// Lines of the base that one side replaced. An empty range is an insertion before its bound.
  private struct Change: Hashable {
    var base: Range<Int>
    var lines: [Substring]
  }

  // Without their ends, so that a paragraph added after the last line leaves that line as it was.
  // By scalars, because a carriage return and a line feed are one character.
  private static func lines(_ text: String) -> [Substring] {
    text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map(Substring.init)
  }

  /// The most line pairs that are compared in detail; beyond it the changed middle counts as one change.
  static let comparedPairsMax = 4_000_000

  private static func changes(from base: [Substring], to other: [Substring]) -> [Change] {
    var start = 0
    while start < min(base.count, other.count), base[start] == other[start] { start += 1 }
    var (baseEnd, otherEnd) = (base.count, other.count)
    while baseEnd > start, otherEnd > start, base[baseEnd - 1] == other[otherEnd - 1] {
      baseEnd -= 1
      otherEnd -= 1
    }
    if start == baseEnd && start == otherEnd { return [] }
    let whole = Change(base: start..<baseEnd, lines: Array(other[start..<otherEnd]))
    if (baseEnd - start) * (otherEnd - start) > comparedPairsMax { return [whole] }
    return detailed(from: base[start..<baseEnd], to: other[start..<otherEnd], offset: start)
  }

  private static func detailed(
    from base: ArraySlice<Substring>, to other: ArraySlice<Substring>, offset: Int
  ) -> [Change] {
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
        let lines = other[other.startIndex + newStart..<other.startIndex + new]
        changes.append(Change(base: offset + oldStart..<offset + old, lines: Array(lines)))
      } else {
        old += 1
        new += 1
      }
    }
    return changes
  }

  /// Both lists in order, a change that both made once; `nil` if two changes touch.
  private static func union(_ left: [Change], _ right: [Change]) -> [Change]? {
    var result: [Change] = []
    var (left, right) = (left[...], right[...])
    while let first = left.first, let second = right.first {
      if first == second {
        result.append(first)
        left.removeFirst()
        right.removeFirst()
      } else if first.base.upperBound < second.base.lowerBound {
        result.append(left.removeFirst())
      } else if second.base.upperBound < first.base.lowerBound {
        result.append(right.removeFirst())
      } else {
        return nil
      }
    }
    result += left
    result += right
    // A change that both made may still touch the next one of either side.
    for (change, next) in zip(result, result.dropFirst()) where change.base.upperBound >= next.base.lowerBound {
      return nil
    }
    return result
  }
}
