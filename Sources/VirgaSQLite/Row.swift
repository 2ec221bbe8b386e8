import CSQLite

/// The row that a statement stands on. Columns count from 0; what they give is copied out of SQLite.
///
/// `NULL` reads as 0, `""` and `[]` unless the optional form is asked for. Values of another type are converted by
/// SQLite's rules.
public struct Row: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  public func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

  public func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

  public func int(_ column: Int) -> Int { Int(sqlite3_column_int64(handle, Int32(column))) }

  public func bool(_ column: Int) -> Bool { sqlite3_column_int64(handle, Int32(column)) != 0 }

  public func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

  public func text(_ column: Int) -> String {
    guard let bytes = sqlite3_column_text(handle, Int32(column)) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  public func blob(_ column: Int) -> [UInt8] {
    guard let bytes = sqlite3_column_blob(handle, Int32(column)) else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
  }

  public func optionalInt64(_ column: Int) -> Int64? { isNull(column) ? nil : int64(column) }

  public func optionalDouble(_ column: Int) -> Double? { isNull(column) ? nil : double(column) }

  public func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }

  public func optionalBlob(_ column: Int) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}
