/// Values by key, in the order in which the keys came; every operation but `compact` takes constant time.
///
/// Removed places are left empty until half of them are, so that a list of ten thousand pending changes costs no more
/// per batch than one of a hundred. A key is kept once: the index holds places, eight to sixteen bytes for each.
package struct OrderedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package struct Element: Sendable {
    package let key: Key
    package var value: Value
  }

  private var places: [Element?] = []
  package private(set) var count = 0
  /// The places of keys, each at the key's hash or behind it with no gap between; -1 is a gap. Its size is a power of
  /// two and at least twice the number of keys.
  private var index: [Int32] = []

  package init() {}

  package var isEmpty: Bool { count == 0 }

  /// The value of a key. A new key takes the last place, a known one keeps its own; `nil` removes it.
  package subscript(key: Key) -> Value? {
    get { slot(of: key).flatMap { places[Int(index[$0])]?.value } }
    set {
      switch (newValue, slot(of: key)) {
      case (let value?, let slot?): places[Int(index[slot])]?.value = value
      case (let value?, nil): append(Element(key: key, value: value))
      case (nil, let slot?):
        places[Int(index[slot])] = nil
        count -= 1
        clear(slot)
        if places.count > 32, places.count > 2 * count { compact() }
      case (nil, nil): break
      }
    }
  }

  package mutating func moveToEnd(_ key: Key) {
    guard let value = self[key] else { return }
    self[key] = nil
    self[key] = value
  }

  package mutating func removeAll() { self = OrderedTable() }

  private mutating func append(_ element: Element) {
    places.append(element)
    count += 1
    if count * 2 > index.count { makeIndex() } else { enter(places.count - 1, element.key) }
  }

  private mutating func compact() {
    places.removeAll { $0 == nil }
    makeIndex()
  }

  // MARK: The index

  private func start(of key: Key) -> Int { key.hashValue & (index.count - 1) }

  private func slot(of key: Key) -> Int? {
    guard !index.isEmpty else { return nil }
    var slot = start(of: key)
    while index[slot] >= 0 {
      if places[Int(index[slot])]?.key == key { return slot }
      slot = (slot + 1) & (index.count - 1)
    }
    return nil
  }

  private mutating func makeIndex() {
    var size = 16
    while size < count * 2 { size *= 2 }
    index = [Int32](repeating: -1, count: size)
    for case (let place, let element?) in places.enumerated() { enter(place, element.key) }
  }

  private mutating func enter(_ place: Int, _ key: Key) {
    var slot = start(of: key)
    while index[slot] >= 0 { slot = (slot + 1) & (index.count - 1) }
    index[slot] = Int32(place)
  }

  /// Makes a gap, and moves what is behind it up to where a search from its hash still finds it.
  private mutating func clear(_ cleared: Int) {
    let mask = index.count - 1
    var gap = cleared
    var slot = (gap + 1) & mask
    while index[slot] >= 0, let key = places[Int(index[slot])]?.key {
      // How far the entry is from its hash, and from the gap: it may move if the gap is not before its hash.
      if (slot - start(of: key)) & mask >= (slot - gap) & mask {
        index[gap] = index[slot]
        gap = slot
      }
      slot = (slot + 1) & mask
    }
    index[gap] = -1
  }
}

extension OrderedTable: Sequence {
  package func makeIterator() -> AnyIterator<Element> {
    var iterator = places.makeIterator()
    return AnyIterator {
      while let place = iterator.next() { if let place { return place } }
      return nil
    }
  }

  package var underestimatedCount: Int { count }
}
