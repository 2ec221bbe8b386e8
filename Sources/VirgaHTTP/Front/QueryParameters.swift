import VirgaAuth

/// The parameters of a request's query. Unknown ones are nobody's business: clients send cache busters.
struct QueryParameters {
  private var items: [(name: Substring, value: Substring)] = []

  init(of head: HTTPRequestHead) {
    guard let query = head.target[...].divided(at: UInt8(ascii: "?"))?.behind else { return }
    for item in query.parts(between: UInt8(ascii: "&")) where !item.isEmpty {
      let (name, value) = item.divided(at: UInt8(ascii: "=")) ?? (item, "")
      items.append((name: name, value: value))
    }
  }

  /// The first value of that name, decoded; `nil` if there is none, it is empty or cannot be decoded.
  subscript(name: String) -> String? {
    guard let value = items.first(where: { $0.name == name })?.value, !value.isEmpty else { return nil }
    return value.percentDecoded
  }

  /// The first value of that name as it was sent; `nil` if there is none or it is empty.
  func spelled(_ name: String) -> Substring? {
    items.first { $0.name == name && !$0.value.isEmpty }?.value
  }

  /// Clients write `true`, `True` or `1`.
  func isTrue(_ name: String) -> Bool { ["true", "1"].contains(self[name]?.lowercased()) }
}
