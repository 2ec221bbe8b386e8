import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceAssetTests {
  /// Uploads bytes for a field of a record and answers the value to save.
  private func upload(
    _ harness: Harness, for record: RecordName = "r", _ field: FieldName = "photo", checksum: String = "sum",
    size: Int64 = 5, container: ContainerID = "iCloud.test", environment: Environment = .development,
    user: UserName = "_alice", scope: DatabaseScope = .private, service: Service = Service()
  ) throws -> AssetValue {
    var claim = UploadGrant(
      container: container, environment: environment, user: user, recordName: record, fieldName: field,
      expires: harness.now + Limits.uploadURLAge)
    claim.scope = scope
    let (now, seed) = (harness.now, harness.random.next())
    let receipt = try harness.write { [claim] transaction in
      var random = SplitMix64(seed: seed)
      return try service.acceptUpload(
        for: claim, checksum: checksum, size: size, in: transaction, now: now, random: &random)
    }
    return AssetValue(fileChecksum: receipt.fileChecksum, size: receipt.size, receipt: receipt.receipt)
  }

  private func save(_ harness: Harness, _ asset: AssetValue, to record: RecordName = "r") throws -> RecordResult {
    try harness.modify(.force(record, ["photo": .asset(asset)]))
  }

  @Test func anUploadedAssetIsSavedAndComesWithAURL() throws {
    let harness = try Harness.withZone()
    let asset = try upload(harness)
    let stored = AssetValue(fileChecksum: "sum", size: 5, downloadURL: "down:sum")
    #expect(try save(harness, asset).record?.value("photo") == .asset(stored))
    #expect(try harness.record("r")?.value("photo") == .asset(stored))
    #expect(try harness.page().records[0].record?.value("photo") == .asset(stored))
  }

  /// C96: each way in which a receipt can be wrong, named in the error, and the record not saved.
  @Test(arguments: [
    "unknown", "no receipt", "of another container", "of another environment", "for field", "of record", "checksum",
    "bytes", "expired", "used before",
  ])
  func aWrongReceiptIsRefused(wrong: String) throws {
    let harness = try Harness.withZone()
    var asset = try upload(harness)
    switch wrong {
    case "unknown": asset.receipt = "never uploaded"
    case "no receipt": asset.receipt = nil
    case "of another container": asset = try upload(harness, container: "iCloud.other")
    case "of another environment": asset = try upload(harness, environment: .production)
    case "for field": asset = try upload(harness, "cover")
    case "of record": asset = try upload(harness, for: "other")
    case "checksum": asset.fileChecksum = "another"
    case "bytes": asset.size = 6
    case "expired": harness.now = harness.now + Limits.receiptAge + .seconds(1)
    default:
      _ = try save(harness, asset)
      _ = try harness.modify(.forceDelete("r"))
    }
    let error = try save(harness, asset).failure?.error
    #expect(error?.code == .badRequest)
    let word = wrong.hasPrefix("of another") ? "another container, environment or user" : wrong
    #expect(error?.reason.contains(word) == true, "\(error?.reason ?? "none")")
    #expect(try harness.record("r") == nil)
  }

  @Test func anotherUsersReceiptIsRefused() throws {
    let harness = try Harness.withZone()
    #expect(try save(harness, upload(harness, user: "_bob")).code == .badRequest)
  }

  @Test func aSaveThatIsSentAgainFindsItsAssetInPlace() throws {
    // C96
    let harness = try Harness.withZone()
    let asset = try upload(harness)
    _ = try save(harness, asset)
    #expect(try save(harness, asset).code == nil)
    var read = asset
    read.receipt = nil
    read.downloadURL = "down:sum"
    #expect(try save(harness, read).code == nil)
    let replaced = RecordOperation(
      .forceReplace, RecordChange(name: "r", fields: [.init("photo", Field(.asset(read)))]))
    #expect(try harness.modify(replaced).code == nil)
    #expect(try save(harness, read, to: "other").code == .badRequest)
  }

  @Test func theAssetOfAKeptVersionMayBeSavedAgain() throws {
    let harness = try Harness.withZone()
    var first = try upload(harness)
    _ = try save(harness, first)
    _ = try save(harness, upload(harness, checksum: "later"))
    first.receipt = nil
    #expect(try save(harness, first).record?.value("photo")?.isAsset("sum") == true)
    _ = try harness.modify(.forceDelete("r"))
    #expect(try save(harness, first).code == nil)
    // Another record never held it, and once the version is forgotten nobody did.
    #expect(try save(harness, first, to: "other").code == .badRequest)
    _ = try harness.modify(.forceDelete("r"))
    harness.now = harness.now + Limits.versionAge + .seconds(1)
    let now = harness.now
    try harness.write { try Service().compact(in: $0, now: now) }
    let error = try save(harness, first).failure?.error
    #expect(error?.reason.contains("has no receipt, and the record does not have it") == true)
  }

  @Test func aFileCountsOnceHoweverOftenARecordHoldsIt() throws {
    let harness = try Harness.withZone()
    let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
    func used() throws -> Int64? { try harness.write { try $0.database(key)?.usedBytes } }
    var asset = try upload(harness, size: 1_000_000)
    _ = try save(harness, asset)
    asset.receipt = nil
    let copies = Array(repeating: asset, count: 3)
    #expect(try harness.modify(.force("r", ["more": .assetList(copies)])).code == nil)
    let bytes = try used() ?? 0
    #expect((1_000_000..<1_001_000).contains(bytes), "\(bytes)")
    #expect(try harness.modify(.forceDelete("r")).isDeleted)
    #expect(try used() == 0)
  }

  @Test func anotherRecordHoldsTheAssetByANewReceipt() throws {
    let harness = try Harness.withZone()
    _ = try save(harness, upload(harness))
    func rereference(_ field: FieldName, of record: RecordName = "r", as caller: Harness.Caller = .alice) throws
      -> [AssetValue]
    {
      let request = AssetsRereferenceRequest(
        zone: Harness.diary,
        items: [.init(recordName: "r", fieldName: "photo"), .init(recordName: record, fieldName: field)])
      guard case .assets(let assets) = try harness.call(.assetsRereference(request), as: caller) else { return [] }
      return assets
    }
    let assets = try rereference("photo")
    #expect(assets.map(\.fileChecksum) == ["sum", "sum"] && assets[0].receipt != assets[1].receipt)
    #expect(try save(harness, assets[0], to: "other").code == nil)
    // A receipt serves once, and its owner alone.
    #expect(try save(harness, assets[0], to: "third").code == .badRequest)
    try harness.makeZone("Diary", as: .bob)
    let stolen = RecordOperation.force("r", ["photo": .asset(assets[1])])
    #expect(try harness.modify(stolen, as: .bob).failure?.error.reason.contains("of another container") == true)
    // A bad entry fails the whole.
    _ = try harness.modify(.force("r", ["text": .string("x")]))
    #expect(throws: ServiceError.self) { try rereference("text") }
    #expect(throws: ServiceError.self) { try rereference("photo", of: "gone") }
    // The bytes live as long as any record holds them.
    _ = try harness.modify(.forceDelete("r"))
    harness.now = harness.now + Limits.versionAge + Limits.unreferencedAssetAge + .seconds(1)
    let now = harness.now
    let collected = try harness.write { transaction in
      try Service().compact(in: transaction, now: now)
      return try Service().collectAssets(in: transaction, now: now, limit: 10)
    }
    #expect(collected.isEmpty)
    #expect(try harness.record("other")?.value("photo")?.isAsset("sum") == true)
  }

  @Test func aReceiptServesOnceInARequestAndIsFreeAgainIfNothingWasWritten() throws {
    let harness = try Harness.withZone()
    let asset = try upload(harness)
    let twice = RecordOperation.force("r", ["photo": .assetList([asset, asset])])
    #expect(try harness.modify(twice).code == .badRequest)
    let batch: [RecordOperation] = [.force("r", ["photo": .asset(asset)]), .update("none", tag: nil)]
    #expect(try harness.modify(batch).map(\.code) == [.atomicError, .notFound])
    #expect(try save(harness, asset).code == nil)
  }

  @Test func leavingTheAssetOutOfTheDesiredKeysLeavesItsURLOut() throws {
    // C62
    let harness = try Harness.withZone()
    _ = try save(harness, upload(harness))
    _ = try harness.modify(.force("r", ["title": .string("x")]))
    var request = RecordsLookupRequest(records: [.init("r"), .init("r", desiredKeys: ["photo"])], zone: Harness.diary)
    request.desiredKeys = ["title"]
    guard case .records(let reply) = try harness.call(.recordsLookup(request)) else { return #expect(Bool(false)) }
    #expect(reply.records.map { $0.record?.json.contains("down:") } == [false, true])
    var changes = ZoneChangesRequest(zone: Harness.diary)
    changes.desiredKeys = ["title"]
    guard case .recordChanges(let page) = try harness.call(.recordsChanges(changes)) else {
      return #expect(Bool(false))
    }
    #expect(page.records[0].record?.json == #"{"title":{"value":"x","type":"STRING"}}"#)
  }

  @Test func bytesLiveAsLongAsAVersionClaimsThemAndAreCollectedThen() throws {
    let harness = try Harness.withZone()
    _ = try save(harness, upload(harness, checksum: "kept"))
    _ = try upload(harness, checksum: "orphan")
    func collect() throws -> [String] {
      let now = harness.now
      return try harness.write { transaction in
        try Service().compact(in: transaction, now: now)
        return try Service().collectAssets(in: transaction, now: now, limit: 10)
      }
    }
    #expect(try collect() == [])
    harness.now = harness.now + Limits.unreferencedAssetAge + .seconds(1)
    #expect(try collect() == ["orphan"])
    _ = try harness.modify(.forceDelete("r"))
    #expect(try collect() == [])
    harness.now = harness.now + Limits.versionAge + .seconds(1)
    #expect(try collect() == ["kept"])
  }

  @Test func uploadTokensNameTheirRecordAndExpire() throws {
    let harness = try Harness.withZone()
    let items: [AssetsUploadRequest.Item] = [
      .init(recordName: "r", recordType: "Entry", fieldName: "photo"),
      .init(recordName: nil, recordType: "Entry", fieldName: "photo"),
    ]
    let request = AssetsUploadRequest(zone: Harness.diary, items: items)
    guard case .uploadTokens(let tokens) = try harness.call(.assetsUpload(request)) else {
      return #expect(Bool(false))
    }
    let end = harness.now.milliseconds + 900_000
    #expect(tokens[0] == AssetUploadToken(recordName: "r", fieldName: "photo", url: "up:r/photo/\(end)"))
    #expect(tokens[1].recordName.rawValue.utf8.count == 36)
    let nowhere = AssetsUploadRequest(zone: ZoneSelector("None"), items: items)
    #expect(try harness.failure(.assetsUpload(nowhere))?.code == .zoneNotFound)
    #expect(try harness.failure(.assetsUpload(request), as: .world)?.code == .authenticationRequired)
    let bad = AssetsUploadRequest(
      zone: Harness.diary, items: [.init(recordName: "_é", recordType: "E", fieldName: "f")])
    #expect(try harness.failure(.assetsUpload(bad))?.code == .badRequest)
  }

  // MARK: Quotas

  /// What no record claims counts until one does, or until its receipt expires.
  @Test func uploadsThatNoRecordClaimsAreHeldToTheQuota() throws {
    let harness = try Harness.withZone()
    let service = Service(quotas: Quotas(userBytes: 1_000, publicBytes: 300))
    func upload(
      _ checksum: String, _ size: Int64, user: UserName = "_alice", scope: DatabaseScope = .private
    ) throws -> AssetValue {
      try self.upload(harness, checksum: checksum, size: size, user: user, scope: scope, service: service)
    }
    func isRefused(_ checksum: String, _ size: Int64, scope: DatabaseScope = .private) throws -> Bool {
      do { _ = try upload(checksum, size, scope: scope) } catch let error as ServiceError {
        #expect(error.code == .quotaExceeded && error.reason.hasPrefix(Reason.quotaExceeded))
        return true
      }
      return false
    }
    let first = try upload("a", 400)
    // The answer was lost, and the same bytes come again.
    _ = try upload("a", 400)
    _ = try upload("b", 600)
    #expect(try isRefused("c", 1))
    #expect(try !isRefused("p", 300, scope: .public), "the public database has a quota of its own")
    #expect(try isRefused("q", 1, scope: .public))
    _ = try upload("c", 1_000, user: "_bob")
    // Bytes in a record count there, and no more here.
    #expect(try save(harness, first).record != nil)
    #expect(try !isRefused("c", 400))
    #expect(try isRefused("d", 1))
    harness.now = harness.now + Limits.receiptAge + .seconds(1)
    #expect(try !isRefused("d", 1_000))
    harness.now = harness.now + Limits.receiptAge + .seconds(86_400)
    let now = harness.now
    for step in try harness.write({ try Service().compactionSteps(in: $0, now: now) }) {
      while try harness.write({ try Service().perform(step, in: $0, now: now) }) {}
    }
    for user in ["_alice", "_bob"] {
      #expect(try harness.write { try $0.entities(.upload, owner: "iCloud.test/development/\(user)") }.isEmpty)
    }
  }

  @Test func uploadsThatNoRecordClaimsHaveANumber() throws {
    let harness = try Harness.withZone()
    let service = Service(quotas: Quotas(userBytes: 1 << 30))
    let expires = (harness.now + Limits.receiptAge).milliseconds
    let owner = "iCloud.test/development/_alice"
    try harness.write { transaction in
      for number in 1..<Limits.unreferencedUploadsMax {
        let value = Array("\(number)\n1\nprivate\n\(expires)".utf8)
        try transaction.put(Entity(.upload, key: "\(owner)/\(number)", owner: owner, value: value))
      }
    }
    _ = try upload(harness, checksum: "0", size: 1, service: service)
    let error = #expect(throws: ServiceError.self) {
      try upload(harness, checksum: "one more", size: 1, service: service)
    }
    #expect(error?.code == .quotaExceeded)
    _ = try upload(harness, checksum: "0", size: 1, service: service)
    // Without a quota nothing is counted.
    _ = try upload(harness, checksum: "one more", size: 1)
  }

  @Test func anUploadAfterItsURLExpiredIsRefused() throws {
    let harness = Harness()
    let claim = UploadGrant(
      container: "c", environment: .development, user: "_a", recordName: "r", fieldName: "f",
      expires: harness.now - .seconds(1))
    let now = harness.now
    #expect(throws: ServiceError.badRequest("the upload URL has expired")) {
      try harness.write { transaction in
        var random = SplitMix64(seed: 1)
        return try Service().acceptUpload(
          for: claim, checksum: "s", size: 1, in: transaction, now: now, random: &random)
      }
    }
  }
}

extension FieldValue {
  fileprivate func isAsset(_ checksum: String) -> Bool {
    if case .asset(let asset) = self { asset.fileChecksum == checksum } else { false }
  }
}
