import Foundation

/// What became of an operation's items, in the order in which they were asked for, and of the whole.
///
/// Blocks of the newer style see each item's own result and the whole's, which fails only if nothing was tried. Blocks
/// of the older style see one error: the whole's, or `partialFailure` with those of the items.
struct ItemResults<ID: Hashable & Sendable, Value: Sendable>: Sendable {
  let items: [(id: ID, result: Result<Value, any Error>)]
  let whole: Result<Void, any Error>

  /// - Parameter body: Gives the result of each item; if it throws, every item has failed with that error.
  init(_ ids: [ID], _ body: () async throws -> [ID: Result<Value, any Error>]) async {
    do {
      self.init(ids, .success(try await body()))
    } catch {
      self.init(ids, .failure(error))
    }
  }

  init(_ ids: [ID], _ results: Result<[ID: Result<Value, any Error>], any Error>) {
    whole = results.map { _ in }
    switch results {
    case .success(let results):
      items = ids.map { ($0, results[$0] ?? .failure(CKError(.internalError, "The service left out an item."))) }
    case .failure(let error): items = ids.map { ($0, .failure(error)) }
    }
  }

  var values: [Value] { items.compactMap { try? $0.result.get() } }

  var valuesByID: [ID: Value] {
    var values: [ID: Value] = [:]
    for (id, result) in items {
      if case .success(let value) = result { values[id] = value }
    }
    return values
  }

  var errors: [AnyHashable: any Error] {
    var errors: [AnyHashable: any Error] = [:]
    for (id, result) in items {
      if case .failure(let error) = result { errors[AnyHashable(id)] = error }
    }
    return errors
  }

  /// The error for blocks of the older style.
  var olderError: (any Error)? { CKError.older(whole, errors) }
}

extension CKError {
  /// The one error of an operation for blocks of the older style; nil if all went well.
  static func older(_ whole: Result<Void, any Error>, _ items: [AnyHashable: any Error]) -> (any Error)? {
    if case .failure(let error) = whole { return error }
    guard !items.isEmpty else { return nil }
    return CKError(
      .partialFailure,
      userInfo: [
        NSLocalizedDescriptionKey: "\(items.count) items failed.", CKPartialErrorsByItemIDKey: items,
      ])
  }
}

extension Result {
  var error: (any Error)? {
    if case .failure(let error) = self { error } else { nil }
  }
}
