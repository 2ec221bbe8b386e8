// Limits of schemas; all are choices of this service.
extension Limits {
  /// Record types of one schema.
  public static let recordTypesPerSchemaMax = 2_000
  /// Bytes of a schema's text.
  public static let schemaTextBytesMax = 4 << 20
  /// Errors that are told of one text.
  public static let schemaDiagnosticsMax = 100
}
