/// The program's words in one language.
package struct Texts: Sendable {
  package var table: [Text: String]
  package var code: String
  /// How the program is called where a text tells what to type: with the folder, if one was named.
  package var program = "lanternly"

  private let weekdays: [String]
  private let months: [String]

  package init(table: [Text: String], code: String) {
    self.table = table
    self.code = code
    // Taken apart once: a list asks for them in each line.
    weekdays = (table[.weekdays] ?? "").split(separator: " ").map(String.init)
    months = (table[.months] ?? "").split(separator: " ").map(String.init)
  }

  package static let english = Texts(table: englishTable, code: "en")
  package static let spanish = Texts(table: spanishTable, code: "es")

  package static func of(languageCode: String) -> Texts { languageCode == "es" ? .spanish : .english }

  /// The text with `{0}`, `{1}` … replaced, and `{p}` by the program.
  package func callAsFunction(_ text: Text, _ values: String...) -> String { filled(text, values) }

  package func filled(_ text: Text, _ values: [String]) -> String {
    guard let pattern = table[text] else { preconditionFailure("a text is missing: \(text)") }
    var result = ""
    var rest = pattern[...]
    // In one pass, so that braces in a value stay what they are.
    while let open = rest.firstIndex(of: "{") {
      result += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: "}"),
        let value = value(of: rest[rest.index(after: open)..<close], among: values)
      else {
        result += "{"
        rest = rest.dropFirst()
        continue
      }
      result += value
      rest = rest[rest.index(after: close)...]
    }
    return result + rest
  }

  private func value(of name: Substring, among values: [String]) -> String? {
    if name == "p" { return program }
    guard let index = Int(name), values.indices.contains(index) else { return nil }
    return values[index]
  }

  /// The text for one, or that for any other number.
  package func counted(_ count: Int, one: Text, other: Text) -> String {
    filled(count == 1 ? one : other, [String(count)])
  }

  /// `Tue 12 Oct 2004, 18:38`, on the clock of the entry's zone.
  package func dateTime(_ local: LocalTime) -> String {
    let weekday = weekdays[local.weekday]
    let month = months[local.month - 1]
    return self(
      .dateTime, weekday, String(local.day), month, String(local.year),
      "\(local.hour.padded(2)):\(local.minute.padded(2))")
  }
}
