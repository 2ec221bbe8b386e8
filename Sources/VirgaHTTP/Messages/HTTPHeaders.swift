import VirgaAuth

/// Names and values of header fields in the order they came; names compare without regard to case.
public struct HTTPHeaders: Sendable, Hashable {
  public private(set) var fields: [(name: String, value: String)] = []

  public init() {}
  public init(_ fields: [(String, String)]) { self.fields = fields.map { (name: $0.0, value: $0.1) } }

  /// The first value of that name.
  public subscript(name: String) -> String? {
    fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value
  }

  func last(named name: String) -> String? {
    fields.last { $0.name.equalsIgnoringASCIICase(name) }?.value
  }

  public mutating func append(_ name: String, _ value: String) {
    // Most messages have a few fields; one allocation for them instead of one each time their number doubles.
    if fields.isEmpty { fields.reserveCapacity(8) }
    fields.append((name: name, value: value))
  }

  public static func == (left: HTTPHeaders, right: HTTPHeaders) -> Bool {
    left.fields.elementsEqual(right.fields) { $0 == $1 }
  }

  public func hash(into hasher: inout Hasher) {
    for field in fields {
      hasher.combine(field.name)
      hasher.combine(field.value)
    }
  }
}
