/// The type of a field as a schema fixes it.
public struct FieldType: Hashable, Sendable {
  /// What one value is.
  public enum Scalar: String, Hashable, Sendable, CaseIterable {
    case string = "STRING"
    case int64 = "INT64"
    case double = "DOUBLE"
    case timestamp = "TIMESTAMP"
    case bytes = "BYTES"
    case reference = "REFERENCE"
    case asset = "ASSET"
    case location = "LOCATION"
  }

  /// What one value, or one element of a list, is.
  public var scalar: Scalar
  /// Whether the field holds a list.
  public var isList: Bool
  /// Whether the field's values are encrypted.
  public var isEncrypted: Bool

  /// Makes a type of single, plain values by default.
  public init(_ scalar: Scalar, isList: Bool = false, isEncrypted: Bool = false) {
    self.scalar = scalar
    self.isList = isList
    self.isEncrypted = isEncrypted
  }

  /// As the schema language writes it and error texts name it: `STRING`, `LIST<INT64>`, `ENCRYPTED BYTES`.
  public var schemaName: String {
    let base = (isEncrypted ? "ENCRYPTED " : "") + scalar.rawValue
    return isList ? "LIST<\(base)>" : base
  }

  /// Reads `schemaName` back.
  public init?(schemaName: String) {
    var text = schemaName[...]
    let isList = text.hasPrefix("LIST<") && text.hasSuffix(">")
    if isList { text = text.dropFirst(5).dropLast() }
    let isEncrypted = text.hasPrefix("ENCRYPTED ")
    if isEncrypted { text = text.dropFirst(10) }
    guard let scalar = Scalar(rawValue: String(text)) else { return nil }
    self.init(scalar, isList: isList, isEncrypted: isEncrypted)
  }

  /// The `type` tag on the wire: `STRING`, `ASSETID`, `INT64_LIST`; encrypted bytes are `ENCRYPTED_BYTES`.
  public var wireTag: String {
    if isEncrypted && scalar == .bytes && !isList { return "ENCRYPTED_BYTES" }
    let base = scalar == .asset ? "ASSETID" : scalar.rawValue
    return isList ? base + "_LIST" : base
  }
}

extension Field {
  /// The field's type; `nil` for an empty list of no known type and for a value of an unknown type.
  public var type: FieldType? {
    guard let (scalar, isList) = value.shape else { return nil }
    return FieldType(scalar, isList: isList, isEncrypted: isEncrypted)
  }
}

extension FieldValue {
  fileprivate var shape: (FieldType.Scalar, Bool)? {
    switch self {
    case .string: (.string, false)
    case .int64: (.int64, false)
    case .double: (.double, false)
    case .timestamp: (.timestamp, false)
    case .bytes: (.bytes, false)
    case .reference: (.reference, false)
    case .asset: (.asset, false)
    case .location: (.location, false)
    case .stringList: (.string, true)
    case .int64List: (.int64, true)
    case .doubleList: (.double, true)
    case .timestampList: (.timestamp, true)
    case .bytesList: (.bytes, true)
    case .referenceList: (.reference, true)
    case .assetList: (.asset, true)
    case .locationList: (.location, true)
    case .emptyList, .unknown: nil
    }
  }
}
