import CloudKit
import Testing
import VirgaCloudKit
import VirgaModel
import VirgaWire

@Suite struct SyncEngineTests {
  @Test func anEditReachesAnotherDevice() throws {
    let world = SyncWorld()
    let phone = world.device()
    let laptop = world.device()
    phone.edit("a", ["text": "hello"])
    try phone.send()
    #expect(
      phone.events.filter { $0 != "state" } == [
        "signIn", "willSend", "sentZones(1)", "sent(1-0!0)", "didSend",
      ])
    try laptop.fetch()
    #expect(laptop.rows == ["a": ["text": "hello"]])
    #expect(
      laptop.events.filter { $0 != "state" } == [
        "signIn", "willFetch", "database(+1-0)", "will diary", "records(+1-0)", "did diary", "didFetch",
      ])
    #expect(phone.pending.isEmpty)
    #expect(phone.engine.status.pendingSaves == 0)
  }
}

/// What calls of the engine do, and when they may be made.
@Suite struct SyncCallTests {
  @Test func awaitingARunInsideAHandlerThrowsInsteadOfHanging() throws {
    let world = SyncWorld()
    let phone = world.device()
    let codes = Holder<[CKError.Code]>()
    phone.onEvent { event, engine in
      guard case .willFetchChanges = event else { return }
      var found: [CKError.Code] = []
      do { try await engine.fetchChanges() } catch { found.append((error as? CKError)?.code ?? .internalError) }
      do { try await engine.sendChanges() } catch { found.append((error as? CKError)?.code ?? .internalError) }
      await engine.cancelOperations()
      codes.value = found
    }
    #expect(throws: CKError.self) { try phone.fetch() }
    #expect(codes.value == [.invalidArguments, .invalidArguments])
  }

  @Test func aTaskThatAHandlerStartsIsServedAfterIt() throws {
    let world = SyncWorld()
    let phone = world.device()
    let isDone = Flag(false)
    phone.onEvent { event, engine in
      guard case .willFetchChanges = event, !isDone.value else { return }
      isDone.value = true
      Task(executorPreference: phone.time) { try await engine.sendChanges() }
    }
    try phone.fetch()
    world.time.settle()
    #expect(
      phone.events.filter { $0.hasPrefix("will") || $0.hasPrefix("did") } == [
        "willFetch", "didFetch", "willSend", "didSend",
      ])
  }

  @Test func aHandlerThatWaitsForItsOwnTaskIsFreed() throws {
    let world = SyncWorld()
    let phone = world.device()
    let outcome = Holder<CKError.Code>()
    phone.onEvent { event, engine in
      guard case .willFetchChanges = event, outcome.value == nil else { return }
      let task = Task(executorPreference: phone.time) { try await engine.fetchChanges() }
      do { try await task.value } catch { outcome.value = (error as? CKError)?.code }
    }
    try phone.fetch()
    #expect(outcome.value == .invalidArguments)
    #expect(phone.events.filter { $0 == "didFetch" }.count == 1)
  }

  /// Nobody knows whom a handler awaits: neither its tasks nor the handlers of other engines wait for its end.
  @Test func cancellingWithinHandlersWaitsForNone() throws {
    let world = SyncWorld()
    let (phone, laptop) = (world.device(), world.device())
    let ends = Counter()
    phone.onEvent { event, engine in
      guard case .willFetchChanges = event else { return }
      await withTaskGroup { group in group.addTask { await engine.cancelOperations() } }
      await laptop.engine.cancelOperations()
      _ = ends.next()
    }
    laptop.onEvent { event, _ in
      guard case .willFetchChanges = event else { return }
      await phone.engine.cancelOperations()
      _ = ends.next()
    }
    let (first, second) = (phone.engine, laptop.engine)
    try world.time.run {
      async let one: Void? = try? first.fetchChanges()
      async let other: Void? = try? second.fetchChanges()
      _ = await (one, other)
    }
    #expect(ends.value == 2)
  }

  @Test func cancellingEndsWhatHangs() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.edit("a", ["text": "a"])
    try phone.sync()
    phone.edit("b", ["text": "b"])
    phone.link.setFault { operation, _ in operation == "records/modify" ? .silence : nil }
    let engine = phone.engine
    let outcome = Holder<CKError.Code>()
    Task(executorPreference: world.time) {
      do { try await engine.sendChanges() } catch { outcome.value = (error as? CKError)?.code }
    }
    world.time.pass(.seconds(1))
    #expect(engine.status.activity == .sending)
    try world.time.run { await engine.cancelOperations() }
    world.time.settle()
    #expect(outcome.value == .operationCancelled)
    #expect(phone.pending == ["save b in diary"])
    #expect(phone.events.last == "didSend")
    phone.link.setFault(nil)
    try phone.sync()
    #expect(try world.serverRows().count == 2)
  }

  @Test func cancellingTheTaskOfACallEndsItsRunAlone() throws {
    let world = SyncWorld()
    let phone = world.device()
    phone.link.setFault { operation, number in operation == "changes/database" && number == 0 ? .silence : nil }
    let engine = phone.engine
    let outcome = Holder<CKError.Code>()
    let task = Task(executorPreference: world.time) {
      do { try await engine.fetchChanges() } catch { outcome.value = (error as? CKError)?.code }
    }
    world.time.pass(.seconds(1))
    task.cancel()
    world.time.settle()
    #expect(outcome.value == .operationCancelled)
    try phone.fetch()
  }

  @Test func scopesAndDescriptionsSayWhatTheyHold() {
    let zone = CKRecordZone.ID(zoneName: "z")
    let record = CKRecord.ID(recordName: "r", zoneID: zone)
    let other = CKRecord.ID(recordName: "r", zoneID: CKRecordZone.ID(zoneName: "y"))
    typealias Scope = CKSyncEngine.SendChangesOptions.Scope
    for (scope, first, second) in [
      (Scope.all, true, true), (.zoneIDs([zone]), true, false), (.allExcluding([zone]), false, true),
      (.recordIDs([record]), true, false),
    ] {
      #expect(scope.contains(record) == first)
      #expect(scope.contains(.deleteRecord(other)) == second)
    }
    #expect(CKSyncEngine.PendingRecordZoneChange.saveRecord(record).description == "save r in z")
    #expect(
      CKSyncEngine.PendingDatabaseChange.saveZone(CKRecordZone(zoneID: zone))
        == .saveZone(CKRecordZone(zoneName: "z")))
    #expect(CKSyncEngine.FetchChangesOptions.Scope.allExcluding([zone]).contains(other.zoneID))
  }

  @Test func batchesStopAtTheLimitsOfARequest() async {
    let zone = CKRecordZone.ID(zoneName: "z")
    func id(_ number: Int) -> CKRecord.ID { CKRecord.ID(recordName: "r\(number)", zoneID: zone) }
    let many = (0..<1_000).map { CKSyncEngine.PendingRecordZoneChange.saveRecord(id($0)) }
    let small = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) {
      CKRecord(recordType: "T", recordID: $0)
    }
    #expect(small?.recordsToSave.count == 400)
    let large = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) { id in
      let record = CKRecord(recordType: "T", recordID: id)
      record["text"] = String(repeating: "x", count: 700_000)
      return record
    }
    #expect(large?.recordsToSave.count == 2)
    let none = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: many) { _ in nil }
    #expect(none == nil)
    let mixed = await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: [.saveRecord(id(0)), .deleteRecord(id(1))]) {
      _ in nil
    }
    #expect(mixed?.recordIDsToDelete == [id(1)])
  }
}

/// An app written for Apple's systems.
@Suite struct SyncSourceTests {
  private func store(_ world: SyncWorld) throws -> (NotesStore, Link) {
    let link = Link(world.server)
    let container = world.container(account: "u1", link)
    let environment = world.time.environment(seed: 5)
    let store = NotesStore()
    try world.time.run {
      await store.set { delegate in
        var configuration = CKSyncEngine.Configuration(
          database: container.privateCloudDatabase, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = true
        return CKSyncEngine(configuration, environment: environment)
      }
      _ = await store.syncEngine
    }
    return (store, link)
  }

  @Test func anActorAsDelegateSyncsBothWays() throws {
    let world = SyncWorld()
    let (phone, phoneLink) = try store(world)
    let (laptop, _) = try store(world)
    world.time.pass(.seconds(5))
    try world.time.run { await phone.save("one", named: "a") }
    world.time.pass(.seconds(2))
    #expect(try world.time.run { await laptop.notes } == ["a": "one"])
    phoneLink.isCut = true
    try world.time.run {
      await phone.save("from the phone", named: "a")
      await laptop.save("from the laptop", named: "a")
      await laptop.save("two", named: "b")
    }
    world.time.pass(.seconds(30))
    phoneLink.isCut = false
    world.time.pass(.seconds(400))
    // This app lets whoever comes last win.
    let notes = try world.time.run { await phone.notes }
    #expect(notes == (try world.time.run { await laptop.notes }))
    #expect(notes.keys.sorted() == ["a", "b"])
    try world.time.run { await laptop.delete(named: "a") }
    world.time.pass(.seconds(10))
    #expect(try world.time.run { await phone.notes } == ["b": "two"])
  }
}
