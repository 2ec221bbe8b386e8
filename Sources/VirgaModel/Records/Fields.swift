/// The fields of a record, in the order of their names' bytes, so that no hash order ever reaches the wire.
public struct Fields: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
  /// A field with its name.
  public struct Element: Hashable, Sendable {
    /// The field's name, unique in its record.
    public var name: FieldName
    /// The field's value, and whether it is encrypted.
    public var field: Field

    /// Names a field.
    public init(name: FieldName, field: Field) {
      self.name = name
      self.field = field
    }
  }

  private var elements: [Element]

  /// No fields.
  public init() { elements = [] }

  /// Takes plain values in any order; of two with one name the last counts.
  public init(dictionaryLiteral pairs: (FieldName, FieldValue)...) {
    elements = []
    for (name, value) in pairs { self[name] = Field(value) }
  }

  /// Takes elements in any order; of two with one name the last counts.
  public init(_ unordered: some Sequence<Element>) {
    elements = []
    for element in unordered { self[element.name] = element.field }
  }

  /// Always 0.
  public var startIndex: Int { 0 }
  /// The number of fields.
  public var endIndex: Int { elements.count }
  /// The field at that place in the order of names.
  public subscript(position: Int) -> Element { elements[position] }

  /// The field of that name; setting `nil` removes it. Appending in the order of names is the cheap way to fill.
  public subscript(name: FieldName) -> Field? {
    get {
      let index = insertionIndex(of: name)
      return index < elements.count && elements[index].name == name ? elements[index].field : nil
    }
    set {
      let index = insertionIndex(of: name)
      let exists = index < elements.count && elements[index].name == name
      switch (newValue, exists) {
      case (let field?, true): elements[index].field = field
      case (let field?, false) where index == elements.count: elements.append(Element(name: name, field: field))
      case (let field?, false): elements.insert(Element(name: name, field: field), at: index)
      case (nil, true): elements.remove(at: index)
      case (nil, false): break
      }
    }
  }

  /// The fields' names, in their order.
  public var names: [FieldName] { elements.map(\.name) }

  /// Makes room for so many fields.
  public mutating func reserveCapacity(_ capacity: Int) { elements.reserveCapacity(capacity) }

  private func insertionIndex(of name: FieldName) -> Int {
    if let last = elements.last, last.name < name { return elements.count }
    var low = 0
    var high = elements.count
    while low < high {
      let middle = (low + high) / 2
      if elements[middle].name < name { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
