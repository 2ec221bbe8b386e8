/// A point in time in whole milliseconds since 1970, which is what a record's date field keeps.
package struct Moment: Hashable, Comparable, Sendable {
  package var milliseconds: Int64

  package init(milliseconds: Int64) { self.milliseconds = milliseconds }
  package init(seconds: Int64) { milliseconds = seconds * 1000 }

  package static func < (left: Moment, right: Moment) -> Bool { left.milliseconds < right.milliseconds }

  /// The whole second that is not before so many more.
  func after(seconds: Double) -> Moment {
    Moment(seconds: (milliseconds + Int64(min(max(seconds, 0), 1e9) * 1000) + 999).floored(by: 1000))
  }

  /// Before everything: the time of a field that nobody ever edited.
  package static let never = Moment(milliseconds: 0)

  /// The time of an edit made now of what was edited at another time: later than that, whatever the clocks say.
  package func after(_ other: Moment) -> Moment {
    max(self, other.milliseconds == .max ? other : Moment(milliseconds: other.milliseconds + 1))
  }
}

extension Moment: Codable {
  package init(from decoder: any Decoder) throws {
    milliseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(milliseconds)
  }
}

extension Moment {
  /// Reads `2004-10-13T00:38:16Z`, with or without fractions, with `Z`, an offset or nothing (then UTC) at its end.
  package init?(iso8601 text: String) {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(digits: 4), scanner.skip("-"), let month = scanner.number(digits: 2),
      scanner.skip("-"), let day = scanner.number(digits: 2), scanner.skip("T") || scanner.skip(" "),
      let hour = scanner.number(digits: 2), scanner.skip(":"), let minute = scanner.number(digits: 2)
    else { return nil }
    var second = 0
    if scanner.skip(":") {
      guard let value = scanner.number(digits: 2) else { return nil }
      second = value
    }
    let fraction = scanner.skip(".") ? scanner.milliseconds() : 0
    guard let offset = scanner.offsetSeconds(), scanner.isAtEnd,
      let local = LocalTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    milliseconds = (local.secondsSince1970 - Int64(offset)) * 1000 + Int64(fraction)
  }

  /// Reads `2004-10-13`: noon of that day on the clocks of a zone.
  package init?(day text: String, in zone: String) {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(digits: 4), scanner.skip("-"), let month = scanner.number(digits: 2),
      scanner.skip("-"), let day = scanner.number(digits: 2), scanner.isAtEnd,
      let local = LocalTime(year: year, month: month, day: day, hour: 12)
    else { return nil }
    self = Zone.moment(of: local, in: zone)
  }

  /// `2004-10-13T00:38:16.000Z`, as scripts want it.
  package var iso8601: String {
    let local = LocalTime(secondsSince1970: milliseconds.floored(by: 1000))
    let fraction = (milliseconds % 1000 + 1000) % 1000
    return "\(local.year.padded(4))-\(local.month.padded(2))-\(local.day.padded(2))"
      + "T\(local.hour.padded(2)):\(local.minute.padded(2)):\(local.second.padded(2)).\(Int(fraction).padded(3))Z"
  }
}

/// A date and time as a clock on some wall shows it, in the Gregorian calendar.
package struct LocalTime: Hashable, Sendable {
  package var year: Int
  package var month: Int
  package var day: Int
  package var hour: Int
  package var minute: Int
  package var second: Int

  /// `nil` if the calendar has no such day or the clock no such time.
  package init?(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0) {
    guard 1...9999 ~= year, 1...12 ~= month, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second else { return nil }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard 1...days[month - 1] ~= day else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
    (self.hour, self.minute, self.second) = (hour, minute, second)
  }

  // Days are counted from a year that begins in March, so that the leap day is the last one: the well-known
  // arithmetic for the proleptic Gregorian calendar.
  package init(secondsSince1970 seconds: Int64) {
    let days = seconds.floored(by: 86400)
    let rest = Int(seconds - days * 86400)
    let shifted = days + 719_468
    let era = shifted.floored(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    year = Int(yearOfEra + era * 400) + (month <= 2 ? 1 : 0)
    (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60)
  }

  package var secondsSince1970: Int64 {
    let shiftedYear = Int64(month <= 2 ? year - 1 : year)
    let era = shiftedYear.floored(by: 400)
    let yearOfEra = shiftedYear - era * 400
    let dayOfYear = Int64((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1)
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    let days = era * 146_097 + dayOfEra - 719_468
    return days * 86400 + Int64(hour * 3600 + minute * 60 + second)
  }

  /// 0 is Sunday.
  package var weekday: Int {
    let days = secondsSince1970.floored(by: 86400) + 4
    return Int(days - days.floored(by: 7) * 7)
  }
}

extension Int64 {
  /// Division that rounds down, for times before 1970.
  func floored(by divisor: Int64) -> Int64 {
    let quotient = self / divisor
    return self % divisor < 0 ? quotient - 1 : quotient
  }
}

extension Int {
  func padded(_ width: Int) -> String {
    let digits = String(self)
    return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
  }
}

/// Walks over the ASCII digits and signs of a date.
struct DigitScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = Substring(text).utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard let first = rest.first, UInt32(first) == character.value else { return false }
    rest.removeFirst()
    return true
  }

  mutating func number(digits: Int) -> Int? {
    var value = 0
    for _ in 0..<digits {
      guard let byte = rest.first, 48...57 ~= byte else { return nil }
      value = value * 10 + Int(byte - 48)
      rest.removeFirst()
    }
    return value
  }

  /// The digits after a decimal point, to the millisecond.
  mutating func milliseconds() -> Int {
    var (value, scale) = (0, 100)
    while let byte = rest.first, 48...57 ~= byte {
      value += Int(byte - 48) * scale
      scale /= 10
      rest.removeFirst()
    }
    return value
  }

  /// `Z`, `+02:00`, `-0500` or nothing.
  mutating func offsetSeconds() -> Int? {
    if isAtEnd || skip("Z") { return 0 }
    let sign: Int
    if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
    guard let hours = number(digits: 2) else { return nil }
    _ = skip(":")
    guard let minutes = isAtEnd ? 0 : number(digits: 2), hours <= 18, minutes < 60 else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }
}
