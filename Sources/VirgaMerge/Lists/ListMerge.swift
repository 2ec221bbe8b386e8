import VirgaModel

/// Three-way merges of lists.
enum ListMerge {
  /// What both sides added, without what either removed, in the order of the values.
  static func set(_ values: ConflictingValues) -> ValueMerge {
    guard let (ancestor, server, mine) = lists(values) else { return .unfit }
    var seen: Set<[UInt8]> = []
    let (inServer, inMine, before) = (keys(server), keys(mine), keys(ancestor))
    let kept = (server + mine).filter { value in
      let key = value.canonicalBytes
      let isRemoved = before.contains(key) && !(inServer.contains(key) && inMine.contains(key))
      return !isRemoved && seen.insert(key).inserted
    }
    return list(kept.sorted { $0.precedes($1) })
  }

  /// Both sides' insertions at their places, without what either removed. Insertions of both at one place are both kept, the one whose
  /// first value is smaller in front; what both inserted there alike is inserted once. An element that both moved is kept at the
  /// earlier of its two places.
  static func ordered(_ values: ConflictingValues) -> ValueMerge {
    guard let (ancestor, server, mine) = lists(values) else { return .unfit }
    guard ancestor.count * max(server.count, mine.count) <= TextMerge.comparedPairsMax else { return .unfit }
    let (theirs, ours) = (Edits(from: ancestor, to: server), Edits(from: ancestor, to: mine))
    let insertedByBoth = keys(theirs.allInserted).intersection(keys(ours.allInserted))
    var result: [FieldValue] = []
    var placed: Set<[UInt8]> = []
    func append(_ values: [FieldValue]) {
      for value in values {
        let key = value.canonicalBytes
        if insertedByBoth.contains(key), !placed.insert(key).inserted { continue }
        result.append(value)
      }
    }
    for place in 0...ancestor.count {
      let (left, right) = (theirs.inserted[place], ours.inserted[place])
      if let first = left.first, let second = right.first, second.precedes(first) {
        append(right)
        append(left)
      } else {
        append(left)
        append(right)
      }
      if place < ancestor.count, !theirs.isRemoved[place], !ours.isRemoved[place] { result.append(ancestor[place]) }
    }
    return list(result)
  }

  /// What one side did to the ancestor's list.
  private struct Edits {
    var isRemoved: [Bool]
    /// What stands before the ancestor's element of that index; the last is what stands at the end.
    var inserted: [[FieldValue]]

    var allInserted: [FieldValue] { inserted.flatMap { $0 } }

    init(from ancestor: [FieldValue], to other: [FieldValue]) {
      isRemoved = Array(repeating: false, count: ancestor.count)
      inserted = Array(repeating: [], count: ancestor.count + 1)
      var isInserted = Array(repeating: false, count: other.count)
      for step in other.difference(from: ancestor, by: { $0.isSame(as: $1) }) {
        switch step {
        case .remove(let index, _, _): isRemoved[index] = true
        case .insert(let index, _, _): isInserted[index] = true
        }
      }
      var place = 0
      for (index, value) in other.enumerated() {
        if isInserted[index] {
          inserted[place].append(value)
        } else {
          while isRemoved[place] { place += 1 }
          place += 1
        }
      }
    }
  }

  private static func keys(_ values: [FieldValue]) -> Set<[UInt8]> { Set(values.map(\.canonicalBytes)) }

  /// A missing list is an empty one.
  private static func lists(
    _ values: ConflictingValues
  ) -> (ancestor: [FieldValue], server: [FieldValue], mine: [FieldValue])? {
    let empty = FieldValue.emptyList
    guard let ancestor = (values.ancestor ?? empty).listMembers, let server = (values.server ?? empty).listMembers,
      let mine = (values.mine ?? empty).listMembers
    else { return nil }
    return (ancestor, server, mine)
  }

  private static func list(_ values: [FieldValue]) -> ValueMerge {
    FieldValue(elements: values).map { .merged($0) } ?? .unfit
  }
}
