import VirgaModel
import VirgaSQLite
import VirgaServer

extension SQLiteTransaction {
  func notifications(for pushToken: String, limit: Int) throws -> [NotificationRow] {
    let unwritten = cache.outbox.unwritten(of: pushToken)
    let statement = try statement(
      "SELECT id, coalescing_key, payload FROM notification WHERE push_token = ? ORDER BY id LIMIT ?")
    try statement.bind(1, pushToken)
    try statement.bind(2, unwritten.isEmpty ? Int64(max(0, limit)) : -1)
    var notifications: [NotificationRow] = []
    try statement.forEach { row in
      notifications.append(
        NotificationRow(id: row.int64(0), pushToken: pushToken, coalescingKey: row.text(1), payload: row.blob(2)))
      return true
    }
    if unwritten.isEmpty { return notifications }
    notifications.removeAll { old in unwritten.contains { $0.coalescingKey.hasSameBytes(as: old.coalescingKey) } }
    return Array((notifications + unwritten).suffix(Limits.notificationsPerTokenMax).prefix(max(0, limit)))
  }

  func append(_ notification: NotificationRow) throws -> Int64 {
    var row = notification
    row.id = try cache.outbox.number(reserving: reserveNumbers)
    cache.outbox.append(row)
    return row.id
  }

  func removeNotifications(_ ids: [Int64], of pushToken: String) throws {
    try dropHidden(of: pushToken)
    for id in ids {
      if let row = cache.outbox.remove(id, of: pushToken) {
        // What it took the place of is still in the file.
        let statement = try statement("DELETE FROM notification WHERE push_token = ? AND coalescing_key = ?")
        try statement.bind(1, pushToken)
        try statement.bind(2, row.coalescingKey)
        try statement.run()
      }
      let statement = try statement("DELETE FROM notification WHERE push_token = ? AND id = ?")
      try statement.bind(1, pushToken)
      try statement.bind(2, id)
      try statement.run()
    }
  }

  /// Drops what rows that wait to be written have crowded out, so that it does not come back when one of those goes.
  private func dropHidden(of pushToken: String) throws {
    let unwritten = cache.outbox.unwritten(of: pushToken)
    guard !unwritten.isEmpty, let oldest = try notifications(for: pushToken, limit: 1).first else { return }
    for row in unwritten where row.id < oldest.id { _ = cache.outbox.remove(row.id, of: pushToken) }
    let statement = try statement("DELETE FROM notification WHERE push_token = ? AND id < ?")
    try statement.bind(1, pushToken)
    try statement.bind(2, oldest.id)
    try statement.run()
  }

  /// Numbers that no notification was given and none will be, also after a stop.
  private func reserveNumbers() throws -> Range<Int64> {
    let count: Int64 = 1 << 16
    let statement = try statement("UPDATE notification_number SET reserved = reserved + ? RETURNING reserved")
    try statement.bind(1, count)
    guard let end = try statement.first({ $0.int64(0) }) else {
      throw StoreError.damaged("the numbers of notifications are missing")
    }
    return end - count + 1..<end + 1
  }

  /// Writes what the group's jobs put into queues; before its commit.
  func writeOutbox() throws {
    for row in cache.outbox.takeUnwritten() {
      let insert = try statement(
        "INSERT OR REPLACE INTO notification (push_token, coalescing_key, id, payload) VALUES (?, ?, ?, ?)")
      try insert.bind(1, row.pushToken)
      try insert.bind(2, row.coalescingKey)
      try insert.bind(3, row.id)
      try insert.bind(4, row.payload)
      try insert.run()
      if !cache.outbox.takeRoom(in: row.pushToken) { try trim(row.pushToken) }
    }
  }

  /// Drops the oldest of a queue beyond its limit, and counts what is left.
  private func trim(_ pushToken: String) throws {
    let trim = try statement(
      """
      DELETE FROM notification WHERE push_token = ?1 AND id <= (
        SELECT id FROM notification WHERE push_token = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
      """)
    try trim.bind(1, pushToken)
    try trim.bind(2, Int64(Limits.notificationsPerTokenMax))
    try trim.run()
    let count = try statement("SELECT count(*) FROM notification WHERE push_token = ?")
    try count.bind(1, pushToken)
    cache.outbox.noteCount(try count.first { $0.int(0) } ?? 0, in: pushToken)
  }
}
