import VirgaAuth

/// The parameters of a request's query. Unknown ones are nobody's business: clients send cache busters.
struct QueryParameters {
  private var items: [(name: Substring, value: Substring)] = []

  init(of head: HTTPRequestHead) {
    // By bytes: what divides a query is ASCII, and finding characters would cost each request microseconds.
    let target = head.target.utf8
    guard let mark = target.firstIndex(of: UInt8(ascii: "?")) else { return }
    for item in target[target.index(after: mark)...].split(separator: UInt8(ascii: "&")) {
      let end = item.firstIndex(of: UInt8(ascii: "=")) ?? item.endIndex
      items.append((name: Substring(item[..<end]), value: Substring(item[end...].dropFirst())))
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
