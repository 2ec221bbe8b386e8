import CloudKit
import Foundation
import Synchronization
import Testing
import VirgaAuth
import VirgaHTTP
import VirgaModel
import VirgaServer

@testable import VirgaCloudKit

/// Section 6 of the behaviours: queues, configurations, cancellation.
@Suite struct OperationTests {
  let server: TestServer
  let device: TestDevice
  let zone = CKRecordZone(zoneName: "Notes")
  let journal = Journal()

  init() async throws {
    server = try TestServer()
    device = try server.device()
    _ = try await device.database.save(zone)
  }

  @Test func operationsWaitForWhatTheyDependOn() async throws {
    let save = CKModifyRecordsOperation(recordsToSave: [record("a", in: zone)])
    save.modifyRecordsResultBlock = { [journal] in journal.note("save \($0.word)") }
    let fetch = CKFetchRecordsOperation(recordIDs: [CKRecord.ID(recordName: "a", zoneID: zone.zoneID)])
    fetch.fetchRecordsResultBlock = { [journal] in journal.note("fetch \($0.word)") }
    fetch.addDependency(save)
    save.database = device.database
    fetch.database = device.database
    let queue = OperationQueue()
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      fetch.completionBlock = { done.resume() }
      queue.addOperation(fetch)
      queue.addOperation(save)
    }
    #expect(journal.all == ["save ok", "fetch ok"])
  }

  @Test func aCancelledOperationTellsEveryBlockSoAndSendsNothing() async throws {
    let operation = CKModifyRecordsOperation(recordsToSave: [record("a", in: zone)])
    operation.perRecordSaveBlock = { [journal] _, result in journal.note("save \(result.word)") }
    operation.modifyRecordsResultBlock = { [journal] in journal.note("result \($0.word)") }
    device.network.forget()
    operation.cancel()
    await operation.run(in: device.database)
    #expect(journal.all == ["save operationCancelled", "result operationCancelled"])
    #expect(device.network.count("records/modify") == 0)
    #expect(operation.isCancelled && operation.isFinished)
  }

  @Test func cancellingEndsARequestUnderWay() async throws {
    let fetch = CKFetchRecordZoneChangesOperation(recordZoneIDs: [zone.zoneID])
    fetch.recordZoneFetchResultBlock = { [journal] _, result in journal.note("zone \(result.word)") }
    fetch.fetchRecordZoneChangesResultBlock = { [journal] in journal.note("result \($0.word)") }
    device.network.before { request in if request.url.contains("changes/zone") { fetch.cancel() } }
    await fetch.run(in: device.database)
    #expect(journal.all == ["zone operationCancelled", "result operationCancelled"])
  }

  @Test func anExplicitValueWinsOverTheGroupsAndTheGroupsOverTheDefault() {
    let group = CKOperationGroup()
    let operation = CKFetchRecordsOperation()
    #expect(operation.qualityOfService == .default && operation.timeoutIntervalForRequest == 60)
    #expect(operation.allowsCellularAccess && operation.timeoutIntervalForResource == 604_800)
    operation.group = group
    group.defaultConfiguration.qualityOfService = .utility
    group.defaultConfiguration.timeoutIntervalForRequest = 5
    #expect(operation.qualityOfService == .utility && operation.timeoutIntervalForRequest == 5)
    // Setting what is the default anyway is a choice too.
    operation.configuration.qualityOfService = .default
    operation.timeoutIntervalForRequest = 7
    #expect(operation.qualityOfService == .default && operation.configuration.timeoutIntervalForRequest == 7)
    operation.configuration = nil
    #expect(operation.qualityOfService == .utility)
  }

  @Test func aConfigurationIsCopiedWhenItIsSet() {
    let configuration = CKOperation.Configuration()
    configuration.isLongLived = true
    let operation = CKOperation()
    operation.configuration = configuration
    configuration.isLongLived = false
    #expect(operation.isLongLived && operation.configuration !== configuration)
  }

  @Test func configuredCallsUseTheTimeoutThatWasSet() async throws {
    let timeouts = Mutex<[Duration]>([])
    device.network.before { request in
      if request.url.contains("zones/list") { timeouts.withLock { $0.append(request.timeout) } }
    }
    let configuration = CKOperation.Configuration()
    configuration.timeoutIntervalForRequest = 9
    let group = CKOperationGroup()
    group.defaultConfiguration.timeoutIntervalForRequest = 11
    _ = try await device.database.allRecordZones()
    try await device.database.configuredWith(configuration: configuration, group: group) { database in
      _ = try await database.allRecordZones()
    }
    try await device.container.configuredWith(group: group) { container in
      _ = try await container.privateCloudDatabase.allRecordZones()
    }
    #expect(timeouts.withLock { $0 } == [.seconds(60), .seconds(9), .seconds(11)])
  }

  /// A device whose waiting passes the server's time at once.
  private func patientDevice(_ pauses: Pauses) -> (network: TestNetwork, container: CKContainer) {
    let network = TestNetwork(server.front)
    let service = RemoteService(
      endpoint: TestServer.url, environment: .development, home: device.home, transport: network, deviceName: "phone",
      now: { [server] in server.now },
      pause: { [server] duration in
        pauses.all.withLock { $0.append(duration) }
        server.advance(by: duration)
        if pauses.all.withLock({ $0.count }) == 3 { network.heal() }
      })
    return (network, CKContainer("iCloud.test", on: service))
  }

  private final class Pauses: Sendable { let all = Mutex<[Duration]>([]) }

  // 6.1
  @Test(arguments: [QualityOfService.utility, .background])
  func utilityWorkWaitsOutAFailingNetwork(_ quality: QualityOfService) async throws {
    let pauses = Pauses()
    let (network, container) = patientDevice(pauses)
    _ = try await container.userRecordID()
    network.cut()
    let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
    fetch.configuration.qualityOfService = quality
    fetch.fetchRecordZonesResultBlock = { [journal] in journal.note($0.word) }
    await fetch.run(in: container.privateCloudDatabase)
    #expect(journal.all == ["ok"])
    #expect(pauses.all.withLock { $0 } == [.seconds(1), .seconds(2), .seconds(4)])
  }

  @Test func utilityWorkGivesUpAfterItsTimeForTheWhole() async throws {
    let pauses = Pauses()
    let (network, container) = patientDevice(pauses)
    _ = try await container.userRecordID()
    network.cut()
    let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
    fetch.configuration.qualityOfService = .utility
    fetch.configuration.timeoutIntervalForResource = 4
    fetch.fetchRecordZonesResultBlock = { [journal] in journal.note($0.word) }
    await fetch.run(in: container.privateCloudDatabase)
    #expect(journal.all == ["networkUnavailable"])
    #expect(pauses.all.withLock { $0 } == [.seconds(1), .seconds(2)])
  }

  @Test(arguments: [QualityOfService.default, .userInitiated, .userInteractive])
  func otherWorkFailsAtOnce(_ quality: QualityOfService) async throws {
    let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
    fetch.qualityOfService = quality
    fetch.fetchRecordZonesResultBlock = { [journal] in journal.note($0.word) }
    device.network.cut()
    await fetch.run(in: device.database)
    #expect(journal.all == ["networkUnavailable"])
  }

  // 6.5
  @Test func noLongLivedOperationIsEverKnown() async throws {
    let operation = CKModifyRecordsOperation(recordsToSave: [record("a", in: zone)])
    operation.configuration.isLongLived = true
    operation.modifyRecordsResultBlock = { [journal] in journal.note($0.word) }
    await operation.run(in: device.database)
    #expect(journal.all == ["ok"])
    #expect(try await device.container.allLongLivedOperationIDs() == [])
    #expect(try await device.container.longLivedOperation(for: operation.operationID) == nil)
  }

  @Test func aContainerRunsOperationsInItsPrivateDatabase() async throws {
    let fetch = CKFetchRecordZonesOperation(recordZoneIDs: [zone.zoneID])
    await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
      fetch.fetchRecordZonesCompletionBlock = { [journal] zones, error in
        journal.note("\(zones?.keys.map(\.zoneName) ?? []) \(error.word)")
      }
      fetch.completionBlock = { done.resume() }
      device.container.add(fetch)
    }
    #expect(journal.all == [#"["Notes"] ok"#])
  }

  @Test func aGroupSurvivesItsArchive() throws {
    let group = CKOperationGroup()
    group.name = "import"
    group.quantity = 3
    group.expectedSendSize = .megabytes
    group.defaultConfiguration.qualityOfService = .background
    let data = try NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKOperationGroup.self, from: data))
    #expect(copy.operationGroupID == group.operationGroupID && copy.name == "import" && copy.quantity == 3)
    #expect(copy.expectedSendSize == .megabytes && copy.expectedReceiveSize == .unknown)
    #expect(copy.defaultConfiguration.qualityOfService == .background)
  }

  @Test func aTokenForAWebPageNeedsThePagesOwn() async throws {
    let page = "the page's token"
    try await server.store.write {
      let token = APIToken(container: "iCloud.test", environment: .development)
      try Credentials().add(token, digest: SHA256.hexDigest(of: page), in: $0)
    }
    for apiToken in [page, "another"] {
      let fetch = CKFetchWebAuthTokenOperation(apiToken: apiToken)
      fetch.fetchWebAuthTokenResultBlock = { [journal] result in
        journal.note("\(result.word) \((try? result.get())?.isEmpty == false)")
      }
      await fetch.run(in: device.database)
    }
    let nameless = CKFetchWebAuthTokenOperation()
    nameless.fetchWebAuthTokenCompletionBlock = { [journal] token, error in
      journal.note("\(token ?? "-") \(error.word)")
    }
    await nameless.run(in: device.database)
    #expect(journal.all == ["ok true", "invalidArguments false", "- invalidArguments"])
  }

  @Test func askingToBeLetIntoAShareIsRefusedWithoutARequest() async throws {
    let url = try #require(URL(string: "http://virga.test/share/a/development/b"))
    let operation = CKShareRequestAccessOperation(shareURLs: [url])
    operation.perShareAccessRequestResultBlock = { [journal] _, result in journal.note("url \(result.word)") }
    operation.shareAccessRequestResultBlock = { [journal] in journal.note("result \($0.word)") }
    device.network.forget()
    await operation.run(in: device.container)
    #expect(journal.all == ["url serverRejectedRequest", "result ok"])
    #expect(device.network.count("/") == 0)
  }
}
