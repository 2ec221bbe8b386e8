import VirgaSQLite

/// Short names of entries: the beginnings that name one of them, at least 8 digits.
package struct ShortNames: Sendable {
  package static let digitsMin = 8

  /// Those that need more digits.
  private var longer: [String: String] = [:]

  /// - Parameter alike: The names that share their first digits with another one, in order.
  init(alike: [String]) {
    for (index, name) in alike.enumerated() {
      let before = index > 0 ? Self.common(alike[index - 1], name) : 0
      let after = index + 1 < alike.count ? Self.common(alike[index + 1], name) : 0
      longer[name] = String(name.prefix(max(Self.digitsMin, before + 1, after + 1)))
    }
  }

  package func callAsFunction(_ id: EntryID) -> String { longer[id.name] ?? String(id.name.prefix(Self.digitsMin)) }

  static func common(_ one: String, _ other: String) -> Int { zip(one.utf8, other.utf8).prefix { $0 == $1 }.count }
}

extension DiaryStore {
  /// The short names of all entries, also of deleted ones, which can be brought back.
  package func shortNames() throws -> ShortNames {
    try read { rows in
      ShortNames(
        alike: try rows.connection.query(
          """
          SELECT name FROM entry WHERE substr(name, 1, \(ShortNames.digitsMin)) IN
            (SELECT substr(name, 1, \(ShortNames.digitsMin)) FROM entry GROUP BY 1 HAVING count(*) > 1)
          ORDER BY name
          """
        ) { $0.text(0) })
    }
  }

  /// The short name of one entry, or of one that could be.
  package func shortName(_ name: String) throws -> String {
    let neighbours = try read { rows in
      [
        try rows.connection.first("SELECT max(name) FROM entry WHERE name < ?", name) { $0.text(0) },
        try rows.connection.first("SELECT min(name) FROM entry WHERE name > ?", name) { $0.text(0) },
      ]
    }
    let common = neighbours.map { ShortNames.common($0 ?? "", name) }.max() ?? 0
    return String(name.prefix(max(ShortNames.digitsMin, common + 1)))
  }
}
