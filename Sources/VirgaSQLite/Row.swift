import CSQLite

/// The row that a statement stands on. Columns count from 0; what they give is copied out of SQLite.
///
/// `NULL` reads as 0, `""` and `[]` unless the optional form is asked for. Values of another type are converted by
/// SQLite's rules.
public struct Row: ~Copyable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  /// Whether the column, counted from 0, is NULL.
  public func isNull(_ column: Int) -> Bool { sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL }

  /// The column as an integer. NULL is 0; a text is read as far as it is a number.
  public func int64(_ column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

  /// The column as an integer. NULL is 0; a text is read as far as it is a number.
  public func int(_ column: Int) -> Int { Int(sqlite3_column_int64(handle, Int32(column))) }

  /// Whether the column is a number other than 0. NULL is false.
  public func bool(_ column: Int) -> Bool { sqlite3_column_int64(handle, Int32(column)) != 0 }

  /// The column as a floating-point number. NULL is 0.
  public func double(_ column: Int) -> Double { sqlite3_column_double(handle, Int32(column)) }

  /// The column as text. NULL is empty; bytes that are no UTF-8 are replaced.
  public func text(_ column: Int) -> String {
    guard let bytes = sqlite3_column_text(handle, Int32(column)) else { return "" }
    let count = Int(sqlite3_column_bytes(handle, Int32(column)))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  /// The column's bytes. NULL is empty.
  public func blob(_ column: Int) -> [UInt8] {
    guard let bytes = sqlite3_column_blob(handle, Int32(column)) else { return [] }
    return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, Int32(column)))))
  }

  /// The column as an integer; `nil` for NULL.
  public func optionalInt64(_ column: Int) -> Int64? { isNull(column) ? nil : int64(column) }

  /// The column as a floating-point number; `nil` for NULL.
  public func optionalDouble(_ column: Int) -> Double? { isNull(column) ? nil : double(column) }

  /// The column as text; `nil` for NULL.
  public func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }

  /// The column's bytes; `nil` for NULL.
  public func optionalBlob(_ column: Int) -> [UInt8]? { isNull(column) ? nil : blob(column) }
}
