/// Elements by an ascending number: what a change feed walks.
///
/// An element that changes again is appended under its new number; the old entry stays until `compact`, and the reader
/// skips it. Numbers usually ascend, so an addition costs O(1); a page costs O(log n + page).
struct SequenceLog<Element: Equatable> {
  private(set) var entries: [(sequence: Int64, element: Element)] = []
  private var staleCount = 0

  mutating func add(_ element: Element, at sequence: Int64) {
    if let last = entries.last, last.sequence > sequence {
      entries.insert((sequence, element), at: index(after: sequence))
    } else {
      entries.append((sequence, element))
    }
  }

  /// Takes back the latest `add` of these.
  mutating func remove(_ element: Element, at sequence: Int64) {
    let end = index(after: sequence)
    let match = entries[..<end].lastIndex { $0.sequence != sequence || $0.element == element }
    if let match, entries[match].sequence == sequence { entries.remove(at: match) }
  }

  /// The index of the first entry whose number is greater than `sequence`.
  func index(after sequence: Int64) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].sequence > sequence { high = middle } else { low = middle + 1 }
    }
    return low
  }

  /// Notes that some entry no longer counts.
  mutating func noteStale() { staleCount += 1 }

  /// Drops the entries that no longer count, once they are as many as those that do.
  mutating func compact(_ counts: (Int64, Element) -> Bool) {
    guard staleCount > 64, staleCount > entries.count / 2 else { return }
    entries.removeAll { !counts($0.sequence, $0.element) }
    staleCount = 0
  }
}
