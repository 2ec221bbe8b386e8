import Foundation
package import VirgaModel

/// A record of another module, as predicates and sort descriptors look at it.
package protocol PredicateRecord {
  var querySubject: QuerySubject { get }
  /// The object that the record shows under a key, system fields included.
  func predicateObject(forKey key: String) -> Any?
}

/// What a predicate is evaluated with.
struct PredicateSubject {
  let object: Any?
  let bindings: [String: Any]?
  /// What a query would see; nil for an object that is no record.
  let record: QuerySubject?

  init(_ object: Any?, bindings: [String: Any]? = nil) {
    self.object = object
    self.bindings = bindings
    record = (object as? any PredicateRecord)?.querySubject
  }

  /// The value under a path of keys; `.null` if there is none.
  func value(of path: [String]) -> Constant {
    if let record {
      guard path.count == 1 else { return .null }
      return record.value(of: QueryField(key: path[0])).map { Constant(field: $0) } ?? .null
    }
    var current = object
    for key in path { current = current.flatMap { Self.value(of: key, in: $0) } }
    return current.map { Constant($0) } ?? .null
  }

  /// What a query would see of the one field; nil if no field could hold the object's value.
  func querySubject(of field: QueryField) -> QuerySubject? {
    if let record { return record }
    guard case .field(let name) = field else { return nil }
    var fields = Fields()
    switch value(of: [name.rawValue]) {
    case .null: break
    case let constant:
      guard let value = constant.fieldValue else { return nil }
      fields[name] = Field(value)
    }
    return QuerySubject(id: Self.nowhere, fields: fields)
  }

  private static let nowhere = RecordID("", in: ZoneID(.default, owner: .defaultOwner))

  /// The value under a key of a record, a dictionary or an object of the app's own.
  ///
  /// Objects are read by their stored properties, as Linux has no key-value coding. One that has no such property stops
  /// the process, as it does on Apple's systems.
  static func value(of key: String, in object: Any) -> Any? {
    switch object {
    case let record as any PredicateRecord: return record.predicateObject(forKey: key)
    case let dictionary as [String: Any]: return dictionary[key]
    case let dictionary as NSDictionary: return dictionary.object(forKey: NSString(string: key))
    default: break
    }
    var mirror: Mirror? = Mirror(reflecting: object)
    while let level = mirror {
      for child in level.children where child.label == key { return child.value }
      mirror = level.superclassMirror
    }
    preconditionFailure("A \(type(of: object)) has no value for the key \(key) that a predicate or a sort asks for.")
  }
}
