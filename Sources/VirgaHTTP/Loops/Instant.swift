/// An instant on the monotonic clock, in nanoseconds.
struct Instant: Hashable, Comparable {
  static let never = Instant(nanoseconds: .max)

  var nanoseconds: Int64

  static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  static func + (instant: Instant, duration: Duration) -> Instant {
    let (seconds, attoseconds) = duration.components
    let (whole, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (nanoseconds, isTooFar) = instant.nanoseconds.addingReportingOverflow(whole)
    let (sum, overflows) = nanoseconds.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isTooFar || overflows ? .never : Instant(nanoseconds: sum)
  }
}
