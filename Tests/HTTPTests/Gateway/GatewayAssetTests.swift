import Foundation
import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

@Suite struct GatewayAssetTests {
  private let photo = Array("the bytes of a photo".utf8)

  private func change(_ asset: AssetValue, name: RecordName = "t1", field: FieldName = "photo") -> RecordChange {
    RecordChange(name: name, type: "Trip", fields: [FieldChange(field, Field(.asset(asset)))])
  }

  /// The asset that the record holds, as a reader sees it.
  private func asset(of name: RecordName = "t1", _ world: GatewayWorld) async throws -> AssetValue? {
    guard
      case .records(let reply) = try await world.call(
        .recordsLookup(RecordsLookupRequest(records: [.init(name)], zone: ZoneSelector("Trips")))),
      case .record(let envelope) = reply.records[0],
      case .asset(let asset)? = try Record(envelope).fields["photo"]?.value
    else { return nil }
    return asset
  }

  private func failure(_ results: [RecordResult]) -> ServiceError? {
    if case .failure(let failure) = results.first { failure.error } else { nil }
  }

  @Test func bytesGoUpAndComeBack() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let receipt = try await world.upload(photo)
    #expect(receipt.size == Int64(photo.count))
    #expect(receipt.fileChecksum == SHA256.digest(of: photo).base64)
    #expect(failure(try await world.save([change(AssetValue(receipt))])) == nil)
    let asset = try #require(try await asset(world))
    #expect(asset.receipt == nil)
    let answer = try await world.send("GET", try world.target(of: try #require(asset.downloadURL)))
    #expect(answer.status == 200)
    #expect(answer.body == photo)
    #expect(answer.headers["Accept-Ranges"] == "bytes")
    #expect(try world.files(in: "uploads").isEmpty)
    let hex = Hex.encode(SHA256.digest(of: photo))
    #expect(try world.files(in: "assets") == ["\(hex.prefix(2))/\(hex)"])
  }

  /// The second time the bytes lie there already, claimed, and are replaced only by durable ones.
  @Test func theSameBytesAgainAreTheSameAsset() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    for name in ["t1", "t2"] as [RecordName] {
      let receipt = try await world.upload(photo, record: name)
      #expect(failure(try await world.save([change(AssetValue(receipt), name: name)])) == nil)
      let asset = try #require(try await asset(of: name, world))
      let answer = try await world.send("GET", try world.target(of: try #require(asset.downloadURL)))
      #expect(answer.body == photo)
    }
    #expect(try world.files(in: "assets").count == 1 && world.files(in: "uploads").isEmpty)
  }

  /// A digest is worked out as the bytes come, and is that of the bytes that are kept.
  @Test func aDigestThatCameWithTheFileIsThatOfItsBytes() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let head = HTTPRequestHead(method: "POST", target: try await world.uploadTarget())
    guard case .stream(let directory, _, digests: true) = world.front.bodyPlan(for: head) else {
      Issue.record("raw bytes are not digested as they come")
      return
    }
    for size in [0, 1, 65_536, 300_000, 1_000_001] {
      let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
      let file = try UploadFile(in: directory, digests: true)
      for start in stride(from: 0, to: size, by: 65_521) {
        try file.append(Array(bytes[start..<min(start + 65_521, size)]).span)
      }
      let body = file.handOver()
      #expect(body.size == Int64(size) && body.digest == SHA256.digest(of: bytes))
      let request = HTTPRequest(
        head: HTTPRequestHead(method: "POST", target: try await world.uploadTarget()), body: .file(body))
      guard case .bytes(let answer) = await world.front.respond(to: request).body else { return }
      #expect(try AssetReceipt(decoding: answer).fileChecksum == SHA256.digest(of: bytes).base64)
      let name = Hex.encode(SHA256.digest(of: bytes))
      #expect(try Data(contentsOf: URL(filePath: "\(world.folder)/assets/\(name.prefix(2))/\(name)")) == Data(bytes))
    }
  }

  @Test(arguments: ["multipart/form-data; boundary=b", "Multipart/Form-Data"])
  func aMultipartBodyIsNotDigestedAsAWhole(type: String) async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let head = HTTPRequestHead(
      method: "POST", target: try await world.uploadTarget(), headers: HTTPHeaders([("Content-Type", type)]))
    guard case .stream(_, _, digests: false) = world.front.bodyPlan(for: head) else {
      Issue.record("\(world.front.bodyPlan(for: head))")
      return
    }
  }

  @Test func aFileThatIsNotHandedOverGoes() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "virga-upload-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    do {
      let file = try UploadFile(in: folder, digests: false)
      try file.append([1, 2, 3].span)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder).count == 1)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
    try FileManager.default.removeItem(atPath: folder)
  }

  @Test(arguments: ["PUT", "POST"])
  func anEmptyFileIsAnAssetToo(_ method: String) async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let answer = try await world.send(method, try await world.uploadTarget())
    let receipt = try AssetReceipt(decoding: answer.body)
    #expect(receipt.size == 0)
    #expect(failure(try await world.save([change(AssetValue(receipt))])) == nil)
    let asset = try #require(try await asset(world))
    let target = try world.target(of: try #require(asset.downloadURL))
    #expect(try await world.send("GET", target).status == 200)
    #expect(try await world.send("GET", target, headers: [("Range", "bytes=0-0")]).status == 416)
  }

  @Test(arguments: [
    #"form-data; name="files"; filename="file.file""#, #"form-data; name="file"; filename=x"#, #"form-data; name="a""#,
  ])
  func multipartBodiesGiveTheirFile(_ disposition: String) async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    var dice = SplitMix64(seed: 5)
    // Larger than the window of the search, and full of what looks like the delimiter.
    var content = (0..<(3 << 20)).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
    content.replaceSubrange(1_048_570..<1_048_580, with: "\r\n--bounda".utf8)
    let before =
      disposition.contains("filename") ? "--boundary\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nno\r\n" : ""
    let body =
      Array("\(before)--boundary\r\nContent-Disposition: \(disposition)\r\nContent-Type: image/jpeg\r\n\r\n".utf8)
      + content + Array("\r\n--boundary--\r\n".utf8)
    let receipt = try await world.upload(
      body, headers: [("Content-Type", "multipart/form-data; boundary=\"boundary\"")])
    #expect(receipt.size == Int64(content.count))
    #expect(receipt.fileChecksum == SHA256.digest(of: content).base64)
  }

  @Test(arguments: [
    ("multipart/form-data", "x"), ("multipart/form-data; boundary=b", "x"),
    ("multipart/form-data; boundary=b", "--b--"),
    ("multipart/form-data; boundary=b", "--b\r\nno end of head"),
    ("multipart/form-data; boundary=b", "--b\r\nA: b\r\n\r\nno end"),
  ])
  func multipartBodiesThatAreNoneAreRefused(_ type: String, _ body: String) async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let answer = try await world.send(
      "POST", try await world.uploadTarget(), Array(body.utf8), headers: [("Content-Type", type)])
    #expect(answer.status == 400)
    #expect(try world.files(in: "uploads").isEmpty)
    #expect(try world.files(in: "assets").isEmpty)
  }

  @Test func multipartBodiesMayHoldAnEmptyFile() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    let body = "--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n\r\n--b--"
    let receipt = try await world.upload(
      Array(body.utf8), headers: [("Content-Type", "multipart/form-data; boundary=b")])
    #expect(receipt.size == 0)
  }

  @Test func uploadURLsEndAndCannotBeForged() async throws {
    // C96
    let world = try await GatewayWorld()
    try await world.makeZone()
    let target = try await world.uploadTarget()
    #expect(try await world.send("POST", target + "x", photo).status == 403)
    #expect(try await world.send("POST", "/assets/1/upload", photo).status == 403)
    #expect(try await world.send("POST", "/assets/1/upload?t=YQ.YQ", photo).status == 403)
    world.clock.advance(by: Limits.uploadURLAge + .milliseconds(1))
    let late = try await world.send("POST", target, photo)
    #expect(late.status == 410)
    #expect(try world.files(in: "uploads").isEmpty)
  }

  @Test func anAssetHasALimitOfBytes() async throws {
    let world = try await GatewayWorld { $0.assetBytesMax = 10 }
    try await world.makeZone()
    #expect(try await world.send("POST", try await world.uploadTarget(), Array(repeating: 1, count: 9)).status == 200)
    #expect(try await world.send("POST", try await world.uploadTarget(), Array(repeating: 1, count: 10)).status == 200)
    #expect(try await world.send("POST", try await world.uploadTarget(), Array(repeating: 1, count: 11)).status == 413)
  }

  @Test func aReceiptIsGoodForOneUseOfWhatWasUploaded() async throws {
    // C96: used twice, of another length or checksum, for another field or record, never uploaded: refused, not saved.
    let world = try await GatewayWorld()
    try await world.makeZone()
    let receipt = try await world.upload(photo)
    var wrongSize = AssetValue(receipt)
    wrongSize.size += 1
    var wrongChecksum = AssetValue(receipt)
    wrongChecksum.fileChecksum = SHA256.digest(of: [1]).base64
    var neverUploaded = AssetValue(receipt)
    neverUploaded.receipt = String(repeating: "0", count: 64)
    var withoutReceipt = AssetValue(receipt)
    withoutReceipt.receipt = nil
    for asset in [wrongSize, wrongChecksum, neverUploaded, withoutReceipt] {
      #expect(failure(try await world.save([change(asset)]))?.code == .badRequest)
    }
    #expect(failure(try await world.save([change(AssetValue(receipt), name: "t2")]))?.code == .badRequest)
    #expect(failure(try await world.save([change(AssetValue(receipt), field: "cover")]))?.code == .badRequest)
    #expect(try await asset(world) == nil)
    #expect(failure(try await world.save([change(AssetValue(receipt))])) == nil)
    // The answer to the save may have been lost: the same save again gives one asset.
    #expect(failure(try await world.save([change(AssetValue(receipt))])) == nil)
    _ = try await world.save([RecordChange(name: "t1", type: "Trip", fields: [FieldChange("photo", nil)])])
    #expect(failure(try await world.save([change(AssetValue(receipt))]))?.code == .badRequest)
  }

  @Test func aStrangerCanUseNeitherReceiptNorZone() async throws {
    // C96
    let world = try await GatewayWorld()
    try await world.makeZone()
    let receipt = try await world.upload(photo)
    let stranger = try await world.stranger()
    let zone = ZonesModifyRequest(operations: [.init(.create, ZoneSelector("Trips"))])
    _ = try await world.call(.zonesModify(zone), session: stranger)
    let request = RecordsModifyRequest(
      operations: [RecordOperation(.forceUpdate, change(AssetValue(receipt)))], zone: ZoneSelector("Trips"))
    guard case .records(let reply) = try await world.call(.recordsModify(request), session: stranger) else { return }
    #expect(failure(reply.records)?.reason.contains("another container, environment or user") == true)
    _ = try await world.save([change(AssetValue(receipt))])
    let foreign = RecordsLookupRequest(records: [.init("t1")], zone: ZoneSelector("Trips", owner: world.user))
    let answer = try await world.send(
      "POST", world.path(.recordsLookup), Call.recordsLookup(foreign).encoded(), session: stranger)
    #expect(!answer.text.contains("fileChecksum"))
    #expect(answer.text.contains("serverErrorCode"))
  }

  @Test func aReceiptEnds() async throws {
    // C96
    let world = try await GatewayWorld()
    try await world.makeZone()
    let receipt = try await world.upload(photo)
    world.clock.advance(by: Limits.receiptAge + .milliseconds(1))
    let session = world.front.authenticator.makeSession(account: "account-phone", device: "device-phone").token
    let request = RecordsModifyRequest(
      operations: [RecordOperation(.forceUpdate, change(AssetValue(receipt)))], zone: ZoneSelector("Trips"))
    guard case .records(let reply) = try await world.call(.recordsModify(request), session: session) else { return }
    #expect(failure(reply.records)?.reason.contains("expired") == true)
  }

  @Test(arguments: [
    ("bytes=0-3", 206, 0..<4), ("bytes=4-", 206, 4..<20), ("bytes=-5", 206, 15..<20), ("bytes=19-99", 206, 19..<20),
    ("bytes=-99", 206, 0..<20), ("BYTES=0-0", 206, 0..<1), ("bytes=20-", 416, 0..<0), ("bytes=-0", 416, 0..<0),
    ("bytes=3-2", 200, 0..<20), ("bytes=0-1,3-4", 200, 0..<20), ("lines=1-2", 200, 0..<20), ("bytes=a-b", 200, 0..<20),
    ("bytes=99999999999999999999-", 200, 0..<20),
  ])
  func rangesAreServed(_ range: String, _ status: Int, _ part: Range<Int>) async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([change(AssetValue(try await world.upload(photo)))])
    let target = try world.target(of: try #require(try await asset(world)?.downloadURL))
    let answer = try await world.send("GET", target, headers: [("Range", range)])
    #expect(answer.status == status)
    #expect(answer.body == Array(photo[part]))
    switch status {
    case 206: #expect(answer.headers["Content-Range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/20")
    case 416: #expect(answer.headers["Content-Range"] == "bytes */20")
    default: #expect(answer.headers["Content-Range"] == nil)
    }
    let changed = try await world.send("GET", target, headers: [("Range", range), ("If-Range", "\"other\"")])
    #expect(changed.status == 200)
  }

  @Test func downloadURLsEndAndCannotBeForged() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([change(AssetValue(try await world.upload(photo)))])
    let target = try world.target(of: try #require(try await asset(world)?.downloadURL))
    let tag = try #require(try await world.send("HEAD", target).headers["ETag"])
    #expect(try await world.send("GET", target, headers: [("If-None-Match", tag)]).status == 304)
    #expect(try await world.send("GET", target.replacing("size=20", with: "size=21")).status == 403)
    #expect(try await world.send("GET", target + "x").status == 403)
    #expect(
      try await world.send("GET", "/assets/1/download/..%2F..%2Fsecret.key?size=1&expires=1&signature=x").status == 403)
    world.clock.advance(by: Limits.downloadURLAge + .milliseconds(1))
    #expect(try await world.send("GET", target).status == 410)
  }

  /// A browser lets no page read an answer that says twice who may.
  @Test func pagesReadWhyAURLDoesNotCount() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([change(AssetValue(try await world.upload(photo)))])
    let download = try world.target(of: try #require(try await asset(world)?.downloadURL))
    let upload = try await world.uploadTarget()
    func check(_ method: String, _ target: String, _ status: Int) async throws {
      let origin = "https://app.example"
      let answer = try await world.send(method, target, [1], headers: [("Origin", origin)])
      #expect(answer.status == status)
      let fields = answer.headers.fields.filter { $0.name == "Access-Control-Allow-Origin" }
      #expect(fields.map(\.value) == [origin], "\(method) \(target)")
      #expect(answer.headers.fields.filter { $0 == ("Vary", "Origin") }.count == 1)
    }
    try await check("GET", download, 200)
    try await check("GET", download + "x", 403)
    try await check("POST", upload + "x", 403)
    try await check("POST", upload, 200)
    // What a program fetched is not handed to a page by a cache, without the fields that let it in.
    let plain = try await world.send("GET", download)
    #expect(plain.headers["Vary"] == "Origin" && plain.headers["Access-Control-Allow-Origin"] == nil)
    world.clock.advance(by: Limits.downloadURLAge + .milliseconds(1))
    try await check("GET", download, 410)
    try await check("POST", upload, 410)
  }

  @Test func bytesWhoseRowCannotBeWrittenDoNotStay() async throws {
    let fails = Box(false)
    let world = try await GatewayWorld(over: { FailingStore($0, fails: fails) })
    try await world.makeZone()
    let target = try await world.uploadTarget()
    fails.value.withLock { $0 = true }
    #expect(try await world.send("POST", target, photo).status == 503)
    #expect(try world.files(in: "assets").isEmpty)
    #expect(try world.files(in: "uploads").isEmpty)
    fails.value.withLock { $0 = false }
    #expect(try await world.send("POST", target, photo).status == 200)
    // Bytes that an upload before left are another's: they stay.
    fails.value.withLock { $0 = true }
    #expect(try await world.send("POST", target, photo).status == 503)
    #expect(try world.files(in: "assets").count == 1)
  }

  @Test func anUploadBeyondTheQuotaIsToldSoAndLeavesNothing() async throws {
    let world = try await GatewayWorld { $0.quotas = Quotas(userBytes: 1_000) }
    try await world.makeZone()
    _ = try await world.upload([UInt8](repeating: 1, count: 900), record: "t1")
    let target = try await world.uploadTarget(record: "t2")
    let answer = try await world.send("POST", target, [UInt8](repeating: 2, count: 101))
    #expect(answer.status == 413 && answer.error.code == .quotaExceeded, "\(answer.text)")
    #expect(try world.files(in: "assets").count == 1)
    #expect(try await world.send("POST", target, [UInt8](repeating: 2, count: 100)).status == 200)
  }

  private final class FailingStore: StoreOverMemory {
    let store: MemoryStore
    private let fails: Box<Bool>

    init(_ store: MemoryStore, fails: Box<Bool>) { (self.store, self.fails) = (store, fails) }

    func write<Value: Sendable>(
      size: BodySize, _ body: @escaping @Sendable (any WriteTransaction) throws -> Value,
      completion: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
      if fails.value.withLock({ $0 }) { return completion(.failure(StoreError.full("no space is left"))) }
      store.write(body, completion: completion)
    }
  }

  @Test func clearingAwayEndsWhenTheServerStops() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.upload(photo)
    world.clock.advance(by: Limits.unreferencedAssetAge + .seconds(1))
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await world.front.clearAway()
    }.value
    #expect(try world.files(in: "assets").count == 1)
    await world.front.clearAway()
    #expect(try world.files(in: "assets").isEmpty)
  }

  @Test func bytesThatAreGoneAreNotFound() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([change(AssetValue(try await world.upload(photo)))])
    let target = try world.target(of: try #require(try await asset(world)?.downloadURL))
    for file in try world.files(in: "assets") {
      try FileManager.default.removeItem(atPath: "\(world.folder)/assets/\(file)")
    }
    #expect(try await world.send("GET", target).status == 404)
  }

  @Test func anAssetThatNoRecordClaimsIsCollected() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    _ = try await world.save([change(AssetValue(try await world.upload(photo)))])
    _ = try await world.upload([1, 2, 3], record: "never-saved")
    await world.front.clearAway()
    #expect(try world.files(in: "assets").count == 2)
    world.clock.advance(by: Limits.unreferencedAssetAge + .seconds(1))
    await world.front.clearAway()
    #expect(try world.files(in: "assets") == [Hex.encode(SHA256.digest(of: photo))].map { "\($0.prefix(2))/\($0)" })
    #expect(world.logged.value.withLock { $0 } == [])
  }

  @Test func equalBytesAreKeptOnce() async throws {
    let world = try await GatewayWorld()
    try await world.makeZone()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<8 {
        group.addTask {
          let receipt = try await world.upload(photo, record: RecordName("t\(index)"))
          let saved = try await world.save([change(AssetValue(receipt), name: RecordName("t\(index)"))])
          #expect(failure(saved) == nil)
        }
      }
      try await group.waitForAll()
    }
    #expect(try world.files(in: "assets").count == 1)
  }

  @Test func aNewStartRemovesUploadsThatWereCutOff() async throws {
    let world = try await GatewayWorld()
    try Data([1]).write(to: URL(filePath: "\(world.folder)/uploads/upload-1-1"))
    _ = try Gateway(store: world.store, secrets: world.front.secrets, configuration: world.front.configuration)
    #expect(try world.files(in: "uploads").isEmpty)
  }

  @Test func aFolderThatCannotBeMadeIsReported() {
    let configuration = GatewayConfiguration(
      folder: "/proc/none", policy: .open, now: { Timestamp(milliseconds: 0) })
    #expect(throws: AssetFolderError.self) {
      try Gateway(store: MemoryStore(), secrets: .random(), configuration: configuration)
    }
  }
}
