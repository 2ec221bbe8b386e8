package import VirgaModel

extension QueryField {
  /// The field that a predicate or a sort descriptor means by a key.
  /// - Throws: `PredicateRefusal` for what cannot be queried.
  package init(predicateKey path: [String]) throws(PredicateRefusal) {
    guard path.count == 1, let name = path.first else {
      throw PredicateRefusal(
        "The key path \(path.joined(separator: "."))",
        "a query sees the fields of one record; copy the value into a field of the record that is queried")
    }
    self.init(key: name)
    switch self {
    case .system(.parent), .system(.share):
      throw PredicateRefusal(
        "The system field \(name)", "add a CKRecord.Reference field to the records and compare that")
    case .system(.etag): throw PredicateRefusal("The system field \(name)", "you can only fetch change tags")
    default: break
    }
  }

  /// The field by the name that records give it: `creationDate`, `___createTime` and the like are the system's.
  init(key name: String) {
    switch name {
    case "recordID": self = .system(.recordID)
    case "creationDate": self = .system(.createTime)
    case "modificationDate": self = .system(.modTime)
    case "creatorUserRecordID": self = .system(.createdBy)
    case "lastModifiedUserRecordID": self = .system(.modifiedBy)
    case "parent": self = .system(.parent)
    case "share": self = .system(.share)
    default: self.init(name)
    }
  }

  /// The field's name in a message.
  var name: String {
    switch self {
    case .field(let name): name.rawValue
    case .system(.recordID): "recordID"
    case .system(.createTime): "creationDate"
    case .system(.modTime): "modificationDate"
    case .system(.createdBy): "creatorUserRecordID"
    case .system(.modifiedBy): "lastModifiedUserRecordID"
    case .system(let field): field.rawValue
    case .anySearchable: "SELF"
    }
  }
}
