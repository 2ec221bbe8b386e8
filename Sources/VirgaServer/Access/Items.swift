import VirgaModel
import VirgaWire

/// Runs what concerns one item of a request: an error of the protocol becomes the item's, one of the store goes on.
func itemResult<Value>(failure: (ServiceError) -> Value, _ body: () throws -> Value) throws -> Value {
  do {
    return try body()
  } catch let error as ServiceError {
    return failure(error)
  }
}

extension WriteTransaction {
  /// The same for an item that writes; of one that fails nothing stays.
  func itemResult<Value>(failure: (ServiceError) -> Value, _ body: () throws -> Value) throws -> Value {
    try VirgaServer.itemResult(failure: failure) { try attempt(body) }
  }
}

extension Limits {
  /// - Throws: `limitExceeded`, saying what there are too many of.
  static func check(_ count: Int, atMost limit: Int, _ what: @autoclosure () -> String) throws {
    if count > limit { throw ServiceError.limitExceeded(what(), observed: count, limit: limit) }
  }

  static func check(desiredKeys: [FieldName]?) throws {
    try check(desiredKeys?.count ?? 0, atMost: fieldsPerRecordMax, "names in desiredKeys")
  }
}
