/// Days and times as users type them.
enum WhenParser {
  /// Reads `2026-11-30`, `2026-11-30 18:05` or a full ISO 8601 time.
  static func moment(_ text: String, zone: String, option: String) throws(UsageError) -> Moment {
    if let local = local(text) { return Zone.moment(of: local, in: zone) }
    // Behind the date there is a zone, or its distance from GMT.
    if let moment = Moment(iso8601: text), text.dropFirst(10).contains(where: "Z+-".contains) { return moment }
    throw .valueIsWrong(option: option, value: text)
  }

  /// The beginnings of a day and of the next, on whatever clock.
  static func day(_ text: String, option: String) throws(UsageError) -> (start: LocalTime, end: LocalTime) {
    guard text.utf8.count == 10, var local = local(text) else { throw .valueIsWrong(option: option, value: text) }
    local.hour = 0
    return (local, LocalTime(secondsSince1970: local.secondsSince1970 + 86400))
  }

  private static func local(_ text: String) -> LocalTime? {
    var scanner = DigitScanner(text)
    guard let year = scanner.number(digits: 4), scanner.skip("-"), let month = scanner.number(digits: 2),
      scanner.skip("-"), let day = scanner.number(digits: 2)
    else { return nil }
    if scanner.isAtEnd { return LocalTime(year: year, month: month, day: day, hour: 12) }
    guard scanner.skip(" ") || scanner.skip("T"), let hour = scanner.number(digits: 2), scanner.skip(":"),
      let minute = scanner.number(digits: 2), scanner.isAtEnd
    else { return nil }
    return LocalTime(year: year, month: month, day: day, hour: hour, minute: minute)
  }
}
