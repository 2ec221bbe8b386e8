/// A value that a statement's parameter takes. Pass `nil` for `NULL`.
public protocol Bindable {
  func bind(to statement: Statement, at index: Int) throws(SQLiteError)
}

extension Int64: Bindable {
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) { try statement.bind(index, self) }
}

extension Int: Bindable {
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) {
    try statement.bind(index, Int64(self))
  }
}

extension Bool: Bindable {
  /// 1 or 0.
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) {
    try statement.bind(index, Int64(self ? 1 : 0))
  }
}

extension Double: Bindable {
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) { try statement.bind(index, self) }
}

extension String: Bindable {
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) { try statement.bind(index, self) }
}

extension [UInt8]: Bindable {
  /// A blob.
  public func bind(to statement: Statement, at index: Int) throws(SQLiteError) { try statement.bind(index, self) }
}
