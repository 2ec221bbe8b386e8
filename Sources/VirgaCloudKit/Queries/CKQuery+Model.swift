import VirgaModel
import VirgaPredicates

extension CKQuery {
  /// The query as the service takes it.
  /// - Returns: Nil if the predicate is false of every record, so that there is nothing to ask.
  /// - Throws: `CKError.invalidArguments`, before anything is sent, for what no query can do; its text names the
  ///   operator, the field or the value, and what to use instead.
  func model() throws -> Query? {
    do {
      let filters = try predicate.queryFilters()
      var sorts: [QuerySort] = []
      for descriptor in sortDescriptors ?? [] { sorts.append(try descriptor.querySort()) }
      return filters.map { Query(VirgaModel.RecordType(recordType), filters: $0, sorts: sorts) }
    } catch {
      throw CKError(.invalidArguments, "\(error)")
    }
  }
}
