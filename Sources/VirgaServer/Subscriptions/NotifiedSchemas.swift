import VirgaModel
import VirgaWire

/// What is found out while events are told: schemas, and how many notifications each user was sent.
final class NotifiedSchemas {
  private let database: DatabaseKey
  private let transaction: any ReadTransaction
  private var known: [RecordType: [FieldName]] = [:]
  private var sent: [UserName: Int] = [:]
  private var reserved: [UserName: Int] = [:]

  init(_ database: DatabaseKey, in transaction: any ReadTransaction) {
    self.database = database
    self.transaction = transaction
  }

  /// Keeps room for so many notifications of a user that come later.
  func reserve(_ count: Int, for user: UserName) { reserved[user] = count }

  /// Whether there is room for another notification of a user.
  func takeRoom(for user: UserName) -> Bool {
    let most = Limits.notificationsPerCallMax - reserved[user, default: 0]
    guard sent[user, default: 0] < most else { return false }
    sent[user, default: 0] += 1
    return true
  }

  /// The fields that a search of a whole record looks at: those that are marked so now.
  func searchable(_ type: RecordType) throws -> [FieldName] {
    if let names = known[type] { return names }
    let schema = try transaction.schema(of: type, container: database.container, environment: database.environment)
    let names = schema?.fields.filter { $0.indexes.contains(.searchable) }.map(\.name) ?? []
    known[type] = names
    return names
  }
}
