// A literal is the value that an app would set: a truth value is an integer, as CloudKit stores it.

extension FieldValue: ExpressibleByStringLiteral {
  public init(stringLiteral value: String) { self = .string(value) }
}

extension FieldValue: ExpressibleByIntegerLiteral {
  /// An integer.
  public init(integerLiteral value: Int64) { self = .int64(value) }
}

extension FieldValue: ExpressibleByFloatLiteral {
  /// A floating-point number.
  public init(floatLiteral value: Double) { self = .double(value) }
}

extension FieldValue: ExpressibleByBooleanLiteral {
  /// 1 for true and 0 for false: there is no type for truth.
  public init(booleanLiteral value: Bool) { self = .int64(value ? 1 : 0) }
}
