/// How far some work is, as one line of a terminal. It knows no clock and no terminal: it is told the time and the width.
public struct ProgressLine: Hashable, Sendable {
  /// What is counted.
  public enum Unit: Hashable, Sendable {
    /// Bytes, written with their unit.
    case bytes
    /// Things, with their name in the plural.
    case things(String)
  }

  /// What is done, such as `Backing up`.
  public var label: String
  /// What is counted.
  public var unit: Unit
  /// How much is done.
  public var done: Int64
  /// `nil` while nobody knows.
  public var total: Int64?

  /// Makes a line.
  /// - Parameter total: How much there is to do; `nil` if nobody knows.
  public init(label: String, unit: Unit, done: Int64 = 0, total: Int64? = nil) {
    self.label = label
    self.unit = unit
    self.done = done
    self.total = total
  }

  /// The line, no wider than the terminal.
  /// - Parameter elapsed: How long the work has taken so far.
  public func text(elapsed: Duration, width: Int) -> String {
    let counts = total.map { "\(amount(done)) / \(amount(max($0, done)))" } ?? (done > 0 ? amount(done) : "")
    let time = remaining(after: elapsed).map { "-" + Self.clock($0) } ?? Self.clock(elapsed)
    guard let part else { return Self.fit([label, counts, time].filter { !$0.isEmpty }, width) }
    let percent = "\(part / 10)%"
    let percentText = String(repeating: " ", count: max(0, 4 - percent.count)) + percent
    let room = width - [label, percentText, counts, time].reduce(0) { $0 + $1.count + 2 } - 2
    guard room >= 10 else { return Self.fit([label, percentText, counts, time], width) }
    let cells = min(room, 40)
    let full = cells * part / 1_000
    let bar = "[" + String(repeating: "#", count: full) + String(repeating: " ", count: cells - full) + "]"
    return Self.fit([label, bar, percentText, counts, time], width)
  }

  /// In thousandths.
  private var part: Int? {
    guard let total, total > 0 else { return nil }
    return Int(Double(min(max(done, 0), total)) / Double(total) * 1_000)
  }

  /// At the pace so far; `nil` before there is one.
  private func remaining(after elapsed: Duration) -> Duration? {
    guard let total, done > 0, done < total, elapsed >= .seconds(2) else { return nil }
    return elapsed * (Double(total - done) / Double(done))
  }

  private func amount(_ count: Int64) -> String {
    switch unit {
    case .things(let name): "\(count) \(name)"
    case .bytes: Self.bytes(count)
    }
  }

  private static func bytes(_ count: Int64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"]
    var tenths = count * 10
    var unit = 0
    while tenths >= 10_000, unit < units.count - 1 {
      tenths /= 1_000
      unit += 1
    }
    return unit == 0 ? "\(count) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  private static func clock(_ duration: Duration) -> String {
    let seconds = duration.components.seconds
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60)
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return seconds < 3_600 ? "\(minutes):\(two(rest))" : "\(seconds / 3_600):\(two(minutes)):\(two(rest))"
  }

  private static func fit(_ parts: [String], _ width: Int) -> String {
    String(parts.joined(separator: "  ").prefix(max(width, 0)))
  }
}
