import VirgaModel
import VirgaSchema
import VirgaWire

/// A query that the schema allows: every field is known, of a type that can be compared so, and has its index; every
/// value is of its field's type.
struct CheckedQuery {
  var query: Query
  /// The fields that a search of the whole record looks at.
  var searchable: [FieldName] = []
  /// The stored fields that decide.
  private(set) var fieldNames: Set<FieldName> = []

  private let type: QueriedType

  /// What a query is for.
  enum Use {
    /// Finding the records that meet it.
    case finding
    /// Telling whether a record meets it, which takes no index where it has no filter.
    case watching
  }

  /// - Throws: `badRequest`, or `notFound` for an unknown record type.
  init(
    _ query: Query, for use: Use = .finding, access: Access, in transaction: any ReadTransaction, context: CallContext
  ) throws {
    type = try QueriedType(query.recordType, endpoint: context.endpoint, in: transaction)
    self.query = Query(query.recordType)
    if query.filters.isEmpty && use == .finding {
      try type.require(.queryable, on: type.field(.system(.recordID)), for: .recordID)
    }
    var valueCount = 0
    for filter in query.filters {
      let checked = try check(filter, access: access)
      valueCount += checked.valueCount
      self.query.filters.append(checked)
      note(checked.field)
    }
    try Limits.check(valueCount, atMost: Limits.queryValuesMax, "values in the filters of one query")
    for sort in query.sorts {
      guard let checked = try check(sort), !self.query.sorts.contains(where: { $0.field == checked.field }) else {
        continue
      }
      self.query.sorts.append(checked)
      note(checked.field)
    }
    fieldNames.formUnion(searchable)
  }

  private mutating func note(_ field: QueryField) { if case .field(let name) = field { fieldNames.insert(name) } }

  // MARK: Filters

  private mutating func check(_ filter: QueryFilter, access: Access) throws -> QueryFilter {
    var checked = filter
    let field: SchemaField
    if filter.field == .anySearchable {
      searchable = try type.searchableFields()
      field = SchemaField("", .value(.string), .searchable)
    } else {
      checked.field = try type.resolve(filter.field)
      field = try type.field(checked.field)
      try checkShape(filter.comparator, field)
      try type.require(filter.comparator.neededIndexes, on: field, for: SystemField(rawValue: field.name.rawValue))
    }
    if filter.comparator == .near, !((filter.distance ?? -1) >= 0) {
      throw ServiceError.badRequest("filter type NEAR on field '\(field.name)' needs a distance in metres")
    }
    let isSystem = SystemField(rawValue: field.name.rawValue) != nil
    var value = FilterValue(field: field, isSystem: isSystem, isTagged: filter.isTagged, access: access)
    checked.value = try value.value(filter.value, for: filter.comparator)
    checked.isTagged = true
    return checked
  }

  private func checkShape(_ comparator: QueryComparator, _ field: SchemaField) throws {
    // Of a number whose kind is open either kind says the same.
    let fieldType = field.type.fieldType ?? FieldType(.double, isList: field.type.isList)
    guard !comparator.applies(to: fieldType) else { return }
    throw ServiceError.badRequest(
      "Field '\(field.name)' has a value type of \(fieldType.errorName) and cannot be queried using filter type "
        + comparator.rawValue + hint(comparator, fieldType))
  }

  private func hint(_ comparator: QueryComparator, _ type: FieldType) -> String {
    if type.isEncrypted || type.scalar == .asset { return "" }
    return switch comparator.operand {
    case .member where !type.isList && type.scalar == .string,
      .members where !type.isList && type.scalar == .string:
      "; a list is looked into for a member, and text for whole words with CONTAINS_ALL_TOKENS or for its beginning "
        + "with BEGINS_WITH"
    case .same where type.isList, .list where type.isList: "; compare a list with LIST_CONTAINS or a similar filter"
    default: ""
    }
  }

  // MARK: Sorts

  /// - Returns: `nil` for an encrypted field, whose order means nothing.
  private func check(_ sort: QuerySort) throws -> QuerySort? {
    var checked = sort
    guard sort.field != .anySearchable else { throw ServiceError.badRequest("a sort needs a field") }
    checked.field = try type.resolve(sort.field)
    let field = try type.field(checked.field)
    let fieldType = field.type.fieldType ?? FieldType(.double, isList: field.type.isList)
    if fieldType.isEncrypted { return nil }
    if fieldType.isList || fieldType.scalar == .asset {
      throw ServiceError.badRequest(
        "Field '\(field.name)' has a value type of \(fieldType.errorName) and cannot be sorted by")
    }
    try type.require(.sortable, on: field, for: SystemField(rawValue: field.name.rawValue))
    if (fieldType.scalar == .location) != (sort.origin != nil) {
      throw ServiceError.badRequest(
        "Field '\(field.name)' has a value type of \(fieldType.errorName): "
          + "use relativeLocation to sort by a LOCATION, and only then")
    }
    if sort.origin?.isOnEarth == false { throw ServiceError.notOnEarth(field.name) }
    return checked
  }
}

extension QueryFilter {
  /// How many values it looks for.
  fileprivate var valueCount: Int {
    comparator.operand == .words ? value.searchTokens.count : value.members.count
  }
}

extension QueryComparator {
  /// Any of them will do.
  fileprivate var neededIndexes: SchemaIndexes {
    switch self {
    case .containsAllTokens, .containsAnyTokens: .searchable
    case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals: [.queryable, .sortable]
    default: .queryable
    }
  }
}

/// A record type as far as queries may look at it.
private struct QueriedType {
  let name: RecordType
  private let schema: RecordTypeSchema

  init(_ name: RecordType, endpoint: Endpoint, in transaction: any ReadTransaction) throws {
    self.name = name
    guard name != .users else {
      throw ServiceError.badRequest("Can't query system types: records of type 'Users' are fetched by name alone")
    }
    if name == .share {
      schema = Self.shares(of: endpoint)
      return
    }
    let known = try transaction.schema(of: name, container: endpoint.container, environment: endpoint.environment)
    guard let known else { throw ServiceError(.notFound, "\(Reason.recordTypeNotFound): \(name)") }
    schema = known
  }

  /// No schema declares share records; whoever may see them may list them.
  private static func shares(of endpoint: Endpoint) -> RecordTypeSchema {
    let fields = SystemFields.all.filter { $0.name.rawValue != SystemField.etag.rawValue }.map { field in
      SchemaField(field.name, field.type, field.type.usualIndexes)
    }
    return RecordTypeSchema(
      SchemaRecordType(.share, fields: fields), of: endpoint.container, in: endpoint.environment)
  }

  /// The field itself: a friendly name counts where no field of the type's own has it.
  func resolve(_ field: QueryField) throws -> QueryField {
    guard case .field(let name) = field, schema[name] == nil else { return field }
    if let system = SystemField(friendlyName: name.rawValue) { return .system(system) }
    if name.rawValue.contains(".") {
      throw ServiceError.badRequest(
        "Unknown field '\(name)': a key path into another record cannot be queried; "
          + "copy the value into a field of record type '\(self.name)'")
    }
    throw ServiceError.badRequest("Unknown field '\(name)' of record type '\(self.name)'")
  }

  /// The field as the schema has it: the one place where a query learns of indexes.
  func field(_ field: QueryField) throws -> SchemaField {
    let name = FieldName(field.storedName)
    if let known = schema.queriedField(name) { return known }
    guard case .system(let system) = field else { throw ServiceError.badRequest("Unknown field '\(name)'") }
    return SchemaField(name, SchemaDataType(system.type))
  }

  func searchableFields() throws -> [FieldName] {
    let names = schema.fields.filter { $0.indexes.contains(.searchable) }.map(\.name)
    guard !names.isEmpty else {
      throw ServiceError.badRequest(
        "no field of record type '\(name)' is marked searchable; STRING and LIST<STRING> fields can be")
    }
    return names
  }

  /// - Parameter indexes: Of which one is enough.
  func require(_ indexes: SchemaIndexes, on field: SchemaField, for system: SystemField?) throws {
    guard field.indexes.isDisjoint(with: indexes) else { return }
    let isSort = indexes == .sortable
    let missing: SchemaIndexes = indexes.contains(.queryable) ? .queryable : indexes
    let word = isSort ? "sortable" : missing == .searchable ? "searchable" : "queryable"
    let refusal = "Field '\(system?.errorName ?? field.name.rawValue)' is not marked \(word)"
    switch system {
    case .parent, .share:
      throw ServiceError.badRequest(
        "\(refusal), and no schema can mark it; add a REFERENCE field to record type '\(name)' and query that")
    case .etag: throw ServiceError.badRequest(refusal)
    default: break
    }
    guard field.type.allowedIndexes.contains(missing) else {
      throw ServiceError.badRequest("\(refusal): no field of type \(field.type.name) can be")
    }
    let cure = SchemaField(field.name, field.type, field.indexes.union(missing)).text
    throw ServiceError.badRequest(
      "\(refusal): record type '\(name)' needs the index \(word.uppercased()) there, by the schema line: \(cure)")
  }
}

extension SystemField {
  /// As the service's errors name it.
  fileprivate var errorName: String {
    switch self {
    case .createTime: "_createdTime"
    case .modTime: "_modifiedTime"
    default: friendlyName ?? rawValue
    }
  }
}
