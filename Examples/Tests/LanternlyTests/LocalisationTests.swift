import Testing

@testable import LanternlyCore

struct LocalisationTests {
  private static func placeholders(_ text: String) -> Set<String> {
    Set(text.matches(of: /\{(\d)\}/).map { String($0.1) })
  }

  @Test(arguments: Text.allCases) func everyLanguageHasEveryText(_ text: Text) throws {
    let english = try #require(Texts.english.table[text])
    let spanish = try #require(Texts.spanish.table[text])
    #expect(Self.placeholders(english) == Self.placeholders(spanish))
  }

  @Test(arguments: [
    (["LC_ALL": "es_ES.UTF-8", "LANG": "en_US.UTF-8"], "es"), (["LC_MESSAGES": "es_MX", "LANG": "en_US.UTF-8"], "es"),
    (["LANG": "es"], "es"), (["LC_ALL": "", "LANG": "en_GB.UTF-8"], "en"), (["LANG": "C.UTF-8"], "en"), ([:], "en"),
    (["LC_ALL": "C", "LANG": "es_ES"], "en"), (["LANG": "de_DE"], "en"),
  ]) func theLocaleChoosesTheLanguage(environment: [String: String], code: String) {
    var surroundings = Surroundings.process()
    surroundings.environment = environment
    #expect(Texts.of(languageCode: surroundings.languageCode).code == code)
  }

  @Test func valuesWithBracesStayAsTheyAre() {
    #expect(Texts.english(.usageValueWrong, "{1}", "{0}") == "{0} is not a value for --{1}.")
  }

  @Test func datesAreWrittenInBothLanguages() throws {
    let local = try #require(LocalTime(year: 2004, month: 10, day: 12, hour: 18, minute: 8))
    #expect(Texts.english.dateTime(local) == "Tue 12 Oct 2004, 18:08")
    #expect(Texts.spanish.dateTime(local) == "mar 12 oct 2004, 18:08")
  }
}

struct MomentTests {
  @Test(arguments: [
    ("2004-10-13T00:38:16Z", 1_097_627_896_000), ("2004-10-13T00:38:16.250Z", 1_097_627_896_250),
    ("2004-10-13T02:38:16+02:00", 1_097_627_896_000), ("2004-10-13T00:38Z", 1_097_627_880_000),
    ("1969-12-31T23:59:59Z", -1000), ("2000-02-29T00:00:00Z", 951_782_400_000),
  ]) func isoDatesAreRead(text: String, milliseconds: Int64) {
    #expect(Moment(iso8601: text)?.milliseconds == milliseconds)
  }

  @Test(arguments: ["", "soon", "2004-13-01T00:00:00Z", "2001-02-29T00:00:00Z", "2004-10-13", "2004-10-13T25:00:00Z"])
  func otherTextsAreNoDates(text: String) {
    #expect(Moment(iso8601: text) == nil)
  }

  @Test func datesSurviveTheWayThroughTheCalendar() {
    for day in stride(from: Int64(-700_000), to: 800_000, by: 997) {
      let moment = Moment(milliseconds: day * 86_400_000 + 12_345)
      #expect(Moment(iso8601: moment.iso8601) == moment)
    }
  }

  @Test func clocksThatMoveAreFollowed() throws {
    let summer = try #require(LocalTime(year: 2026, month: 7, day: 1, hour: 12))
    let winter = try #require(LocalTime(year: 2026, month: 1, day: 1, hour: 12))
    #expect(Zone.moment(of: summer, in: "Europe/Madrid").iso8601 == "2026-07-01T10:00:00.000Z")
    #expect(Zone.moment(of: winter, in: "Europe/Madrid").iso8601 == "2026-01-01T11:00:00.000Z")
  }

  @Test(arguments: [
    (3, 29, 1, "00:30"), (3, 29, 2, "01:30"), (3, 29, 3, "01:30"), (10, 25, 2, "00:30"), (10, 25, 3, "02:30"),
  ]) func hoursThatComeTwiceOrNeverAreFound(month: Int, day: Int, hour: Int, clock: String) throws {
    let local = try #require(LocalTime(year: 2026, month: month, day: day, hour: hour, minute: 30))
    #expect(Zone.moment(of: local, in: "Europe/Madrid").iso8601.contains("T\(clock):00"))
  }
}
