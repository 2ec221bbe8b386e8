/// Values by key, in the order in which the keys came; every operation but `compact` takes constant time.
///
/// Removed places are left empty until half of them are, so that a list of ten thousand pending changes costs no more
/// per batch than one of a hundred.
package struct OrderedTable<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  package struct Element: Sendable {
    package let key: Key
    package var value: Value
  }

  private var places: [Element?] = []
  private var index: [Key: Int] = [:]

  package init() {}

  package var count: Int { index.count }
  package var isEmpty: Bool { index.isEmpty }

  /// The value of a key. A new key takes the last place, a known one keeps its own; `nil` removes it.
  package subscript(key: Key) -> Value? {
    get { index[key].flatMap { places[$0]?.value } }
    set {
      switch (newValue, index[key]) {
      case (let value?, let place?): places[place]?.value = value
      case (let value?, nil):
        index[key] = places.count
        places.append(Element(key: key, value: value))
      case (nil, let place?):
        places[place] = nil
        index[key] = nil
        if places.count > 32, places.count > 2 * index.count { compact() }
      case (nil, nil): break
      }
    }
  }

  package mutating func moveToEnd(_ key: Key) {
    guard let value = self[key] else { return }
    self[key] = nil
    self[key] = value
  }

  package mutating func removeAll() {
    places = []
    index = [:]
  }

  private mutating func compact() {
    places.removeAll { $0 == nil }
    index.removeAll(keepingCapacity: true)
    for case (let place, let element?) in places.enumerated() { index[element.key] = place }
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

  package var underestimatedCount: Int { index.count }
}
