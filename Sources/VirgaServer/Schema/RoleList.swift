import VirgaModel
import VirgaSchema

/// The roles of a container's own, with the numbers under which user records name them.
struct RoleList: Hashable {
  struct Entry: Hashable {
    var number: Int64
    var role: RoleName
  }

  /// By number.
  private(set) var entries: [Entry] = []
  /// The last number that was given; none is ever given to another role.
  private var last: Int64 = 0

  init() {}

  /// - Parameter text: A line with the last number, then a line for each role: its number, a space, its name.
  init?(stored text: [UInt8]) {
    var lines = String(decoding: text, as: UTF8.self).split(separator: "\n")[...]
    guard let last = lines.popFirst().flatMap({ Int64($0) }) else { return nil }
    self.last = last
    for line in lines {
      let parts = line.split(separator: " ")
      guard parts.count == 2, let number = Int64(parts[0]) else { return nil }
      entries.append(Entry(number: number, role: RoleName(String(parts[1]))))
    }
  }

  var stored: [UInt8] {
    Array("\(last)\n\(entries.map { "\($0.number) \($0.role)\n" }.joined())".utf8)
  }

  /// Keeps those of the roles that it has, and appends the others.
  mutating func become(_ roles: [RoleName]) {
    let known = Set(entries.map(\.role))
    let kept = Set(roles)
    entries.removeAll { !kept.contains($0.role) }
    for role in roles where !known.contains(role) {
      last += 1
      entries.append(Entry(number: last, role: role))
    }
  }
}
