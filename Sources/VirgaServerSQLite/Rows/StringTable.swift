import VirgaSQLite
import VirgaServer

/// The texts behind the numbers in records, as far as this connection has met them. A number's text never changes.
///
/// Each record of a feed asks for five of them, so the texts lie in an array under their numbers, which count from 1.
struct StringTable {
  /// Numbers up to this one are remembered; a megabyte or two of texts.
  private static let numberMax: Int64 = 16_384

  private var texts: [String?] = []
  private var numbers: [String: Int64] = [:]
  /// The texts asked for last, newest first: the five of a record are mostly those of the one before.
  private var recent: [(text: String, number: Int64)] = []
  private static let recentMax = 4

  func text(_ number: Int64) -> String? {
    number >= 0 && number < Int64(texts.count) ? texts[Int(number)] : nil
  }

  mutating func number(_ text: String) -> Int64? {
    for known in recent where known.text == text { return known.number }
    guard let number = numbers[text] else { return nil }
    if recent.count == Self.recentMax { recent.removeLast() }
    recent.insert((text, number), at: 0)
    return number
  }

  mutating func note(_ number: Int64, _ text: String) {
    guard number >= 0 && number <= Self.numberMax else { return }
    if Int(number) >= texts.count { texts += Array(repeating: nil, count: Int(number) + 1 - texts.count) }
    texts[Int(number)] = text
    numbers[text] = number
  }
}
