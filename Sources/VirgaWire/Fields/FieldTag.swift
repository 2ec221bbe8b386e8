import VirgaModel

/// The `type` tag of a field value, with the other spellings that clients use.
enum FieldTag: Hashable, Sendable {
  case scalar(FieldType.Scalar)
  case list(FieldType.Scalar)
  case encryptedBytes
  /// Stored as INT64.
  case boolean
  /// A list whose elements tell their type, and an empty list whose type nobody knows.
  case anyList, unknownList

  init?(_ tag: String) {
    switch tag {
    case "STRING": self = .scalar(.string)
    case "INT64", "INT", "NUMBER_INT64": self = .scalar(.int64)
    case "DOUBLE", "NUMBER_DOUBLE": self = .scalar(.double)
    case "TIMESTAMP", "DATETIME": self = .scalar(.timestamp)
    case "BYTES", "BYTE": self = .scalar(.bytes)
    case "REFERENCE": self = .scalar(.reference)
    case "ASSETID", "ASSET": self = .scalar(.asset)
    case "LOCATION": self = .scalar(.location)
    case "STRING_LIST": self = .list(.string)
    case "INT64_LIST": self = .list(.int64)
    case "DOUBLE_LIST": self = .list(.double)
    case "TIMESTAMP_LIST": self = .list(.timestamp)
    case "BYTES_LIST": self = .list(.bytes)
    case "REFERENCE_LIST": self = .list(.reference)
    case "ASSETID_LIST", "ASSET_LIST": self = .list(.asset)
    case "LOCATION_LIST": self = .list(.location)
    case "ENCRYPTED_BYTES": self = .encryptedBytes
    case "BOOLEAN": self = .boolean
    case "LIST": self = .anyList
    case "UNKNOWN_LIST": self = .unknownList
    default: return nil
    }
  }
}
