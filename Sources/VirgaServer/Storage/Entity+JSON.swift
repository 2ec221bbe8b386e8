import FoundationEssentials

extension Entity {
  /// An entity whose value is the JSON of `value`, with its keys in order.
  init(_ kind: Kind, key: String, owner: String = "", encoding value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    self.init(kind, key: key, owner: owner, value: Array(try encoder.encode(value)))
  }

  /// What `init(_:key:owner:encoding:)` was given.
  /// - Throws: `StoreError.damaged` if the bytes are something else.
  func decoded<Value: Decodable>() throws -> Value {
    do {
      return try JSONDecoder().decode(Value.self, from: Data(value))
    } catch {
      throw StoreError.damaged("the \(kind.rawValue) \(key) is not what was written")
    }
  }
}
