// Limits of what the operator may ask; all are choices of this service.
extension Limits {
  /// Bytes of a management request's body.
  public static let managementRequestBytesMax = 4 << 20
  /// Rules of one plan of faults.
  public static let faultRulesMax = 1_000
  /// How long a fault may hold a request back.
  public static let faultLatencyMax: Duration = .seconds(3_600)
}
