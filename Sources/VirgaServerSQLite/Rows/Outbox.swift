import VirgaModel
import VirgaServer

/// What the jobs of a group put into queues. It reaches the file once for each queue and coalescing key.
struct Outbox {
  private static let queuesMax = 4_096

  /// Numbers that are reserved for notifications to come.
  private var numbers: Range<Int64> = 0..<0
  /// How many changes the job that runs had made when it reserved them.
  private var reservation: Int?
  private var unwritten: [Key: NotificationRow] = [:]
  /// What was unwritten before each change of the job that runs, the last change last.
  private var before: [(key: Key, row: NotificationRow?)] = []
  /// How many more notifications a queue takes at least before it must be trimmed.
  private var room: [String: Int] = [:]

  /// Names are part of a coalescing key, and names compare by their bytes.
  private struct Key: Hashable {
    let pushToken: String
    let coalescingKey: String

    static func == (left: Key, right: Key) -> Bool {
      left.pushToken == right.pushToken && left.coalescingKey.hasSameBytes(as: right.coalescingKey)
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(pushToken)
      coalescingKey.hashBytes(into: &hasher)
    }
  }

  mutating func beginJob() {
    before.removeAll(keepingCapacity: true)
    reservation = nil
  }

  /// The next number.
  mutating func number(reserving reserve: () throws -> Range<Int64>) rethrows -> Int64 {
    if numbers.isEmpty {
      numbers = try reserve()
      reservation = before.count
    }
    return numbers.removeFirst()
  }

  /// How many changes the job has made.
  var changeCount: Int { before.count }

  mutating func append(_ row: NotificationRow) {
    let key = Key(pushToken: row.pushToken, coalescingKey: row.coalescingKey)
    before.append((key, unwritten.updateValue(row, forKey: key)))
  }

  /// What waits to be written for one queue, in the order of its numbers.
  func unwritten(of pushToken: String) -> [NotificationRow] {
    if unwritten.isEmpty { return [] }
    return unwritten.values.filter { $0.pushToken == pushToken }.sorted { $0.id < $1.id }
  }

  /// - Returns: The row with that number, if it was still to be written.
  mutating func remove(_ id: Int64, of pushToken: String) -> NotificationRow? {
    guard let (key, row) = unwritten.first(where: { $0.value.id == id && $0.key.pushToken == pushToken }) else {
      return nil
    }
    unwritten[key] = nil
    before.append((key, row))
    return row
  }

  /// What the job changed after its first `count` changes is as it was. A reservation of numbers is undone in the file.
  mutating func undo(to count: Int, hasWritten: Bool) {
    while before.count > count {
      let (key, row) = before.removeLast()
      let undone = unwritten[key]
      unwritten[key] = row
      // Nobody was told of it.
      if let undone, undone.id == numbers.lowerBound - 1 { numbers = undone.id..<numbers.upperBound }
    }
    if let reservation, reservation >= count {
      numbers = 0..<0
      self.reservation = nil
    }
    if hasWritten { room = [:] }
  }

  /// What is to be written before the commit, in the order of its numbers.
  mutating func takeUnwritten() -> [NotificationRow] {
    if unwritten.isEmpty { return [] }
    defer {
      unwritten.removeAll(keepingCapacity: true)
      before.removeAll(keepingCapacity: true)
    }
    return unwritten.values.sorted { $0.id < $1.id }
  }

  /// Notes that a queue may hold one more.
  /// - Returns: Whether it stays below its limit.
  mutating func takeRoom(in pushToken: String) -> Bool {
    guard let left = room[pushToken], left > 0 else { return false }
    room[pushToken] = left - 1
    return true
  }

  mutating func noteCount(_ count: Int, in pushToken: String) {
    if room.count >= Self.queuesMax { room = [:] }
    room[pushToken] = max(0, Limits.notificationsPerTokenMax - count)
  }
}
