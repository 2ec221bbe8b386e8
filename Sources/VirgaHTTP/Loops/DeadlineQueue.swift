/// Instants at which something is to be looked at again, the earliest first: a binary heap.
///
/// Nothing is ever taken out before its time. Whoever schedules remembers the instant it waits for and takes others for
/// stale, so that a deadline that moves later (nearly all do) costs nothing.
struct DeadlineQueue {
  struct Entry: Hashable {
    /// On the loop's clock.
    var instant: Instant
    var key: SourceKey
  }

  private var entries: [Entry] = []

  var isEmpty: Bool { entries.isEmpty }
  var earliest: Instant? { entries.first?.instant }

  mutating func insert(_ entry: Entry) {
    entries.append(entry)
    var child = entries.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard entries[child].instant < entries[parent].instant else { return }
      entries.swapAt(child, parent)
      child = parent
    }
  }

  /// Removes and returns the earliest entry if it is not after `now`.
  mutating func removeFirst(notAfter now: Instant) -> Entry? {
    guard let first = entries.first, first.instant <= now else { return nil }
    let last = entries.removeLast()
    guard !entries.isEmpty else { return first }
    entries[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
        if entries[child].instant < entries[least].instant { least = child }
      }
      guard least != parent else { return first }
      entries.swapAt(parent, least)
      parent = least
    }
  }
}
