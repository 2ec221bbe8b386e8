import VirgaAuth

/// The parameters of a request's query. Unknown ones are nobody's business: clients send cache busters.
struct QueryParameters: Sendable {
  private struct Item: Sendable {
    var name: Substring
    var spelled: Substring
    /// `nil` if it cannot be decoded.
    var value: String?
  }

  private var items: [Item] = []
  /// What a web-auth token may have been meant as, the likeliest first: some clients encode it twice, some not at all,
  /// and some turn `+` into a space. `nil` if there is none.
  let webTokenSpellings: [String]?

  init(of head: HTTPRequestHead) {
    guard let query = head.target[...].divided(at: UInt8(ascii: "?"))?.behind else {
      webTokenSpellings = nil
      return
    }
    for item in query.parts(between: UInt8(ascii: "&")) where !item.isEmpty {
      let (name, value) = item.divided(at: UInt8(ascii: "=")) ?? (item, "")
      items.append(Item(name: name, spelled: value, value: value.percentDecoded))
    }
    let token = ["ckWebAuthToken", "ckSession"].lazy.compactMap { [items] name in
      items.first { $0.name == name && !$0.spelled.isEmpty }?.spelled
    }.first
    webTokenSpellings = token.map(Self.spellings)
  }

  /// The first value of that name, decoded; `nil` if there is none, it is empty or cannot be decoded.
  subscript(name: String) -> String? {
    guard let item = items.first(where: { $0.name == name }), !item.spelled.isEmpty else { return nil }
    return item.value
  }

  /// Whether there is a value of that name that is not empty.
  func has(_ name: String) -> Bool { items.contains { $0.name == name && !$0.spelled.isEmpty } }

  /// Clients write `true`, `True` or `1`.
  func isTrue(_ name: String) -> Bool {
    guard let value = self[name] else { return false }
    return ["true", "1"].contains(value.lowercased())
  }

  private static func spellings(of text: Substring) -> [String] {
    guard let once = text.percentDecoded else { return [] }
    let twice = once.percentDecoded ?? once
    return (once == twice ? [once] : [once, twice]).map { $0.replacing(" ", with: "+") }
  }
}
