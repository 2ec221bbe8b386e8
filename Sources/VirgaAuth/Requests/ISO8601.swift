package import VirgaModel

/// Dates as ISO 8601 writes them, in the form of requests: `2016-01-25T22:15:43Z`.
package enum ISO8601 {
  /// A moment in UTC, to the second.
  package static func text(_ moment: Timestamp) -> String {
    let seconds = floorDivide(moment.milliseconds, 1_000)
    let (day, second) = (floorDivide(seconds, 86_400), floorModulo(seconds, 86_400))
    let (year, month, date) = civil(day: day)
    func padded(_ number: Int64, _ width: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    return "\(padded(year, 4))-\(padded(month, 2))-\(padded(date, 2))T"
      + "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))Z"
  }

  /// Reads a date with time: seconds may have a fraction, the zone is `Z` or an offset; `nil` for anything else.
  package static func timestamp(_ text: String) -> Timestamp? {
    var rest = Array(text.utf8)[...]
    guard let year = number(&rest, 4), take("-", &rest), let month = number(&rest, 2), take("-", &rest),
      let date = number(&rest, 2), take("T", &rest), let hour = number(&rest, 2), take(":", &rest),
      let minute = number(&rest, 2), take(":", &rest), let second = number(&rest, 2),
      (1...12).contains(month), (1...31).contains(date), hour < 24, minute < 60, second <= 60
    else { return nil }
    var milliseconds: Int64 = 0
    if take(".", &rest) {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard !digits.isEmpty, digits.count <= 9 else { return nil }
      for position in 0..<3 {
        let index = digits.startIndex + position
        milliseconds = milliseconds * 10 + (index < digits.endIndex ? Int64(digits[index] - UInt8(ascii: "0")) : 0)
      }
      rest = rest.dropFirst(digits.count)
    }
    var offset: Int64 = 0
    if !take("Z", &rest) {
      let isBehind = take("-", &rest)
      guard isBehind || take("+", &rest), let hours = number(&rest, 2) else { return nil }
      _ = take(":", &rest)
      guard let minutes = number(&rest, 2), hours < 24, minutes < 60 else { return nil }
      offset = (hours * 60 + minutes) * 60 * (isBehind ? -1 : 1)
    }
    guard rest.isEmpty else { return nil }
    let seconds = days(year, month, date) * 86_400 + hour * 3_600 + minute * 60 + second - offset
    return Timestamp(milliseconds: seconds * 1_000 + milliseconds)
  }

  private static func number(_ rest: inout ArraySlice<UInt8>, _ count: Int) -> Int64? {
    guard rest.count >= count else { return nil }
    var number: Int64 = 0
    for _ in 0..<count {
      guard let digit = rest.popFirst(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
      number = number * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    return number
  }

  private static func take(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest = rest.dropFirst()
    return true
  }

  // Days of the Gregorian calendar counted from 1970-01-01 (Howard Hinnant, "chrono-Compatible Low-Level Date
  // Algorithms"): years begin in March, so that the leap day is the last.
  private static func days(_ year: Int64, _ month: Int64, _ date: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = floorDivide(year, 400)
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + date - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func civil(day: Int64) -> (year: Int64, month: Int64, date: Int64) {
    let day = day + 719_468
    let era = floorDivide(day, 146_097)
    let dayOfEra = day - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func floorDivide(_ number: Int64, _ divisor: Int64) -> Int64 {
    number / divisor - (number % divisor < 0 ? 1 : 0)
  }

  private static func floorModulo(_ number: Int64, _ divisor: Int64) -> Int64 {
    number - floorDivide(number, divisor) * divisor
  }
}
