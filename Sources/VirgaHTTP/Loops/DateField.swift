import Glibc

/// The value of the `Date` field, put together once a second. Belongs to one loop.
final class DateField {
  private var second: time_t = -1
  private(set) var bytes: [UInt8] = []

  /// Brings `bytes` up to date.
  func refresh() {
    let current = time(nil)
    guard current != second else { return }
    second = current
    bytes = Array(httpDate(current).utf8)
  }
}

/// An instant in the form of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`.
package func httpDate(_ secondsSince1970: Int) -> String {
  var seconds = time_t(secondsSince1970)
  var parts = tm()
  gmtime_r(&seconds, &parts)
  let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let date = "\(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900)"
  return "\(days[Int(parts.tm_wday)]), \(date) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
}
