import CloudKit

// The shape of a contact list over CKSyncEngine: an actor that owns the data and is the engine's delegate.

struct Person: Codable {
  var id: String
  var name: String
  /// Kept with the data, so that an edit outlives a launch that ended before the engine could say so.
  var isEdited = false
  /// The record as the server last confirmed it, without its values.
  var lastKnownRecordData: Data?

  static let recordType = "Person"
  static let zoneName = "People"

  var recordID: CKRecord.ID {
    CKRecord.ID(recordName: id, zoneID: CKRecordZone.ID(zoneName: Person.zoneName))
  }

  var lastKnownRecord: CKRecord? {
    guard let data = lastKnownRecordData, let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
    coder.requiresSecureCoding = true
    let record = CKRecord(coder: coder)
    coder.finishDecoding()
    return record
  }

  mutating func remember(_ record: CKRecord) {
    // Events may come in another order than the server's: an older record is not put over a newer one.
    if let known = lastKnownRecord?.modificationDate, let date = record.modificationDate, known > date { return }
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: coder)
    coder.finishEncoding()
    lastKnownRecordData = coder.encodedData
  }

  mutating func merge(_ record: CKRecord) {
    name = record["name"] as? String ?? name
    remember(record)
  }

  func populate(_ record: CKRecord) { record["name"] = name }
}

final actor AddressBook: CKSyncEngineDelegate {
  struct Saved: Codable {
    var people: [String: Person] = [:]
    var state: CKSyncEngine.State.Serialization?
  }

  private let file: URL
  private var saved: Saved
  private var engine: CKSyncEngine!

  init(file: URL) {
    self.file = file
    saved = (try? JSONDecoder().decode(Saved.self, from: Data(contentsOf: file))) ?? Saved()
  }

  func start() {
    var configuration = CKSyncEngine.Configuration(
      database: CKContainer.default().privateCloudDatabase, stateSerialization: saved.state, delegate: self)
    configuration.automaticallySync = false
    engine = CKSyncEngine(configuration)
    let edited = people.filter { $0.isEdited }
    engine.state.add(pendingRecordZoneChanges: edited.map { .saveRecord($0.recordID) })
  }

  var people: [Person] { saved.people.values.sorted { $0.name < $1.name } }

  func put(_ name: String, id: String) throws {
    var person = saved.people[id] ?? Person(id: id, name: name)
    person.name = name
    person.isEdited = true
    saved.people[id] = person
    try persist()
    engine.state.add(pendingRecordZoneChanges: [.saveRecord(person.recordID)])
  }

  func remove(_ id: String) throws {
    guard let person = saved.people.removeValue(forKey: id) else { return }
    try persist()
    engine.state.add(pendingRecordZoneChanges: [.deleteRecord(person.recordID)])
  }

  func sync() async throws {
    do { try await engine.sendChanges() } catch let error as CKError where error.code == .partialFailure {
      // What failed was resolved and added again, and goes out with another send.
      try await engine.sendChanges()
    }
    try await engine.fetchChanges()
  }

  private func persist() throws { try JSONEncoder().encode(saved).write(to: file, options: .atomic) }

  // MARK: CKSyncEngineDelegate

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .stateUpdate(let update):
      saved.state = update.stateSerialization
      try? persist()
    case .accountChange(let change): handle(change)
    case .fetchedDatabaseChanges(let changes):
      for deletion in changes.deletions where deletion.zoneID.zoneName == Person.zoneName { saved.people = [:] }
    case .fetchedRecordZoneChanges(let changes):
      for modification in changes.modifications {
        let id = modification.record.recordID.recordName
        var person = saved.people[id] ?? Person(id: id, name: "")
        // What waits to be sent stays; the conflict is settled when it is sent.
        let isPending = syncEngine.state.pendingRecordZoneChanges.contains(.saveRecord(person.recordID))
        if !isPending { person.merge(modification.record) }
        saved.people[id] = person
      }
      for deletion in changes.deletions { saved.people[deletion.recordID.recordName] = nil }
      try? persist()
    case .sentRecordZoneChanges(let changes): handle(changes, syncEngine)
    case .sentDatabaseChanges, .willFetchChanges, .didFetchChanges, .willFetchRecordZoneChanges,
      .didFetchRecordZoneChanges, .willSendChanges, .didSendChanges:
      break
    @unknown default: print("unknown event \(event)")
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let scope = context.options.scope
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
    let people = saved.people
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
      guard let person = people[recordID.recordName] else {
        syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
        return nil
      }
      let record = person.lastKnownRecord ?? CKRecord(recordType: Person.recordType, recordID: recordID)
      person.populate(record)
      return record
    }
  }

  private func handle(_ change: CKSyncEngine.Event.AccountChange) {
    switch change.changeType {
    case .signIn(let user):
      print("signed in: \(!user.recordName.isEmpty)")
      engine.state.add(pendingRecordZoneChanges: people.map { .saveRecord($0.recordID) })
    case .signOut, .switchAccounts: saved.people = [:]
    @unknown default: break
    }
    try? persist()
  }

  private func handle(_ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
    var zones: [CKSyncEngine.PendingDatabaseChange] = []
    var records: [CKSyncEngine.PendingRecordZoneChange] = []
    for record in changes.savedRecords {
      let id = record.recordID.recordName
      saved.people[id]?.remember(record)
      let isSent = saved.people[id]?.name == record["name"] as? String
      saved.people[id]?.isEdited = !isSent
    }
    for failure in changes.failedRecordSaves {
      let id = failure.record.recordID
      var forgets = false
      switch failure.error.code {
      case .serverRecordChanged:
        guard let server = failure.error.serverRecord else { continue }
        // The server's name and ours, so that nobody's edit is lost.
        if let mine = saved.people[id.recordName]?.name, let theirs = server["name"] as? String, mine != theirs {
          saved.people[id.recordName]?.name = [mine, theirs].sorted().joined(separator: " / ")
        }
        saved.people[id.recordName]?.remember(server)
        records.append(.saveRecord(id))
      case .zoneNotFound:
        zones.append(.saveZone(CKRecordZone(zoneID: id.zoneID)))
        records.append(.saveRecord(id))
        forgets = true
      case .unknownItem:
        records.append(.saveRecord(id))
        forgets = true
      case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
        .operationCancelled:
        print("later: \(id.recordName)")
      default: print("failed: \(failure.error)")
      }
      if forgets { saved.people[id.recordName]?.lastKnownRecordData = nil }
    }
    syncEngine.state.add(pendingDatabaseChanges: zones)
    syncEngine.state.add(pendingRecordZoneChanges: records)
    try? persist()
  }
}

func contactsApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let book = AddressBook(file: folder.appendingPathComponent("people.json"))
  await book.start()
  switch action {
  case "put": try await book.put(words[1], id: words[0])
  case "remove": try await book.remove(words[0])
  default: break
  }
  if action != "offline" && !words.contains("--offline") { try await book.sync() }
  for person in await book.people { print("person: \(person.id) \(person.name)") }
}
