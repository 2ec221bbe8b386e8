package import VirgaModel

/// The type of a field as the schema language writes it: the types of values, and numbers of a kind left open.
package struct SchemaDataType: Hashable, Sendable {
  package enum Element: Hashable, Sendable {
    case scalar(FieldType.Scalar, isEncrypted: Bool)
    /// A number whose kind is not settled, or was settled for good by `PREFERRED AS`.
    case number(preferred: NumberKind?)
  }

  package enum NumberKind: String, Hashable, Sendable, CaseIterable {
    case int64 = "INT64"
    case double = "DOUBLE"
  }

  package var element: Element
  package var isList: Bool

  package init(_ element: Element, isList: Bool = false) {
    self.element = element
    self.isList = isList
  }

  package init(_ type: FieldType) {
    self.init(.scalar(type.scalar, isEncrypted: type.isEncrypted), isList: type.isList)
  }

  package static func value(
    _ scalar: FieldType.Scalar, isList: Bool = false, isEncrypted: Bool = false
  ) -> SchemaDataType {
    SchemaDataType(.scalar(scalar, isEncrypted: isEncrypted), isList: isList)
  }

  /// The type of the values that such a field holds; `nil` where a number may be of either kind.
  package var fieldType: FieldType? {
    switch element {
    case .scalar(let scalar, let isEncrypted): FieldType(scalar, isList: isList, isEncrypted: isEncrypted)
    case .number(.int64): FieldType(.int64, isList: isList)
    case .number(.double): FieldType(.double, isList: isList)
    case .number(nil): nil
    }
  }

  /// As the schema language writes it: `LIST<STRING>`, `ENCRYPTED BYTES`, `NUMBER PREFERRED AS INT64`.
  package var name: String {
    let base =
      switch element {
      case .scalar(let scalar, let isEncrypted): (isEncrypted ? "ENCRYPTED " : "") + scalar.rawValue
      case .number(let preferred): "NUMBER" + (preferred.map { " PREFERRED AS \($0.rawValue)" } ?? "")
      }
    return isList ? "LIST<\(base)>" : base
  }

  /// Reads `name` back.
  package init?(name: String) {
    if let type = FieldType(schemaName: name) {
      self.init(type)
      return
    }
    let isList = name.hasPrefix("LIST<") && name.hasSuffix(">")
    switch isList ? String(name.dropFirst(5).dropLast()) : name {
    case "NUMBER": self.init(.number(preferred: nil), isList: isList)
    case "NUMBER PREFERRED AS INT64": self.init(.number(preferred: .int64), isList: isList)
    case "NUMBER PREFERRED AS DOUBLE": self.init(.number(preferred: .double), isList: isList)
    default: return nil
    }
  }
}
