extension Service {
  /// Makes every change token expire: to be done once when a store was put back from a backup.
  ///
  /// Readers hold tokens of changes that the store no longer has. With new incarnations each reader begins again instead
  /// of believing that it is up to date. Numbers skip far ahead, so that no change tag of a lost version fits a later
  /// one.
  package func renewIncarnations(
    in transaction: any WriteTransaction, random: inout some RandomNumberGenerator
  ) throws {
    let skipped: Int64 = 1 << 32
    for var database in try transaction.databases() {
      database.sequence += skipped
      database.incarnation = RandomText.incarnation(using: &random)
      try transaction.put(database)
      for var zone in try transaction.allZones(of: database.key) {
        zone.sequence += skipped
        zone.incarnation = RandomText.incarnation(using: &random)
        try transaction.put(&zone)
      }
    }
  }
}
