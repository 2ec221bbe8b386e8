package import VirgaModel

extension Service {
  /// Makes every change token expire: to be done once when a store was put back from a backup.
  ///
  /// Readers hold tokens of changes that the store no longer has. With new incarnations each reader begins again instead
  /// of believing that it is up to date. Numbers skip far ahead, so that no change tag of a lost version fits a later
  /// one, whichever backup was put back before.
  package func renewIncarnations(
    in transaction: any WriteTransaction, now: Timestamp, random: inout some RandomNumberGenerator
  ) throws {
    for var database in try transaction.databases() {
      database.sequence = Self.number(after: database.sequence, now, &random)
      database.incarnation = RandomText.incarnation(using: &random)
      try transaction.put(database)
      for var zone in try transaction.allZones(of: database.key) {
        zone.sequence = Self.number(after: zone.sequence, now, &random)
        zone.incarnation = RandomText.incarnation(using: &random)
        try transaction.put(&zone)
      }
    }
  }

  /// A number beyond all that were given after an earlier restore, of the same backup or another: no zone has a million
  /// changes in a millisecond. Where the clock was set back the dice see to it. All stays below `Int64.max` for thousands
  /// of restores.
  private static func number(
    after last: Int64, _ now: Timestamp, _ random: inout some RandomNumberGenerator
  ) -> Int64 {
    let milliseconds = min(max(0, now.milliseconds), 1 << 42)
    return max(last, milliseconds << 20) + Int64.random(in: 1...1 << 18, using: &random) << 32
  }
}
