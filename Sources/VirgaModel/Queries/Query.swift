/// What a query asks for: the records of one type that meet every filter, in an order.
///
/// Filters are joined by AND; the service knows nothing else (CKQuery).
public struct Query: Hashable, Sendable {
  /// The type of the records to look for.
  public var recordType: RecordType
  /// What the records must match, all of it.
  public var filters: [QueryFilter]
  /// The first counts most. Records that are alike in all of them come by zone and name, ascending.
  public var sorts: [QuerySort]

  /// Makes a query; without filters it matches all records of the type.
  public init(_ recordType: RecordType, filters: [QueryFilter] = [], sorts: [QuerySort] = []) {
    self.recordType = recordType
    self.filters = filters
    self.sorts = sorts
  }
}

/// One condition of a query.
public struct QueryFilter: Hashable, Sendable {
  /// How the field is compared.
  public var comparator: QueryComparator
  /// What is compared.
  public var field: QueryField
  /// What the field is compared with.
  public var value: FieldValue
  /// Metres, for `near`.
  public var distance: Double?
  /// Whether the request stated the value's type; an unstated one may be taken for the field's.
  public var isTagged: Bool

  /// Makes a filter.
  public init(
    _ field: QueryField, _ comparator: QueryComparator, _ value: FieldValue, distance: Double? = nil,
    isTagged: Bool = true
  ) {
    self.comparator = comparator
    self.field = field
    self.value = value
    self.distance = distance
    self.isTagged = isTagged
  }
}

/// One key of a query's order. A field that is missing comes before every value.
public struct QuerySort: Hashable, Sendable {
  /// What to sort by.
  public var field: QueryField
  /// Whether the smallest comes first.
  public var isAscending: Bool
  /// Sorts a location field by its distance from here.
  public var origin: Location?

  /// Makes an order.
  public init(_ field: QueryField, ascending isAscending: Bool = true, origin: Location? = nil) {
    self.field = field
    self.isAscending = isAscending
    self.origin = origin
  }
}

/// What a filter or a sort looks at.
public enum QueryField: Hashable, Sendable {
  case field(FieldName)
  case system(SystemField)
  /// Every field that may be searched for words (`self CONTAINS` in a native predicate).
  case anySearchable

  /// A stored name or a field's name.
  public init(_ name: String) { self = SystemField(storedName: name).map { .system($0) } ?? .field(FieldName(name)) }
}

extension QueryField: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self.init(value) }
}

/// The fields that every record has, by the names that a schema gives them.
public enum SystemField: String, Hashable, Sendable, CaseIterable {
  case recordID = "___recordID"
  case createdBy = "___createdBy"
  case modifiedBy = "___modifiedBy"
  case createTime = "___createTime"
  case modTime = "___modTime"
  case etag = "___etag"
  case parent = "___parent"
  case share = "___share"

  /// As `systemFieldName` spells it; `nil` for a field that has no such name.
  public var friendlyName: String? {
    switch self {
    case .recordID: "recordName"
    case .createdBy: "createdUserRecordName"
    case .modifiedBy: "modifiedUserRecordName"
    case .createTime: "createdTimestamp"
    case .modTime: "modifiedTimestamp"
    case .parent: "parent"
    case .share: "share"
    case .etag: nil
    }
  }

  /// Reads a system field's name as web services write it.
  public init?(friendlyName: String) {
    guard let field = Self.allCases.first(where: { $0.friendlyName == friendlyName }) else { return nil }
    self = field
  }

  /// The schema's spelling; the reference also prints `___recordId`.
  public init?(storedName: String) {
    guard storedName.utf8.starts(with: "___".utf8) else { return nil }
    guard let field = Self(rawValue: storedName == "___recordId" ? "___recordID" : storedName) else { return nil }
    self = field
  }

  /// The type that the system field has.
  public var type: FieldType {
    switch self {
    case .recordID, .createdBy, .modifiedBy, .parent, .share: FieldType(.reference)
    case .createTime, .modTime: FieldType(.timestamp)
    case .etag: FieldType(.string)
    }
  }
}
