import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// One large asset between a client in this process and a real server, through files on both sides.
///
/// `VIRGA_ASSET_MEGABYTES=2048 swift test --filter LargeAssetTests` does it with 2 GB.
struct LargeAssetTests {
  private static let megabytes =
    ProcessInfo.processInfo.environment["VIRGA_ASSET_MEGABYTES"].flatMap { Int($0) } ?? 256
  private static let growthBytesMax = 30 << 20

  // C66
  @Test(.timeLimit(.minutes(5))) func largeAssetPassesBothWaysWithoutGrowingMemory() async throws {
    let server = try await ServerProcess()
    let service = RemoteService(
      endpoint: server.endpoint, environment: .development, home: VirgaHome(path: server.folder.path + "/phone"),
      transport: CurlTransport())
    let database = CKContainer("iCloud.virga.test", on: service).privateCloudDatabase
    let zone = CKRecordZone(zoneName: "Films")
    _ = try await database.save(zone)
    let file = try sparseFile(in: server.folder.path)
    // What only the first request needs is there before anything is measured.
    _ = try await database.allRecordZones()
    let (client, serving) = (try ProcessMemory(getpid()), try ProcessMemory(server.run.process))

    let film = CKRecord(recordType: "Film", recordID: CKRecord.ID(recordName: "rain", zoneID: zone.zoneID))
    film["file"] = CKAsset(fileURL: file)
    let up = try await ContinuousClock().measure { _ = try await database.save(film) }
    #expect(try client.peakGrowthBytes() < Self.growthBytesMax)
    #expect(try serving.peakGrowthBytes() < Self.growthBytesMax)

    let start = ContinuousClock.now
    let fetched = try await database.record(for: film.recordID)["file"] as? CKAsset
    let down = ContinuousClock.now - start
    #expect(try client.peakGrowthBytes() < Self.growthBytesMax)
    #expect(try serving.peakGrowthBytes() < Self.growthBytesMax)
    let url = try #require(fetched?.fileURL)
    #expect(url != file)
    #expect(try digest(of: url) == digest(of: file))
    print(
      "\(Self.megabytes) MB up in \(up), down in \(down); growth of the client"
        + " \(try client.peakGrowthBytes() >> 10) KB, of the server \(try serving.peakGrowthBytes() >> 10) KB")
    await server.terminate()
  }

  /// A file with holes, so that it takes no time to make, and with marks here and there.
  private func sparseFile(in folder: String) throws -> URL {
    let url = URL(fileURLWithPath: folder + "/film")
    try Data().write(to: url)
    let handle = try FileHandle(forWritingTo: url)
    let size = UInt64(Self.megabytes) << 20
    for place in stride(from: 0, to: size, by: 16 << 20) {
      try handle.seek(toOffset: place)
      try handle.write(contentsOf: Data("mark \(place)".utf8))
    }
    try handle.truncate(atOffset: size)
    try handle.close()
    return url
  }

  private func digest(of url: URL) throws -> [UInt8] {
    let handle = try FileHandle(forReadingFrom: url)
    var hash = SHA256()
    while let block = try handle.read(upToCount: 1 << 20), !block.isEmpty { block.withUnsafeBytes { hash.update($0) } }
    return hash.finish()
  }
}

/// The most memory that a process has held since this was made, as growth over what it held then.
private struct ProcessMemory {
  private let process: pid_t
  private let before: Int

  init(_ process: pid_t) throws {
    self.process = process
    // The kernel forgets the peak so far.
    try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/\(process)/clear_refs"))
    before = try Self.bytes("VmRSS:", of: process)
  }

  func peakGrowthBytes() throws -> Int { try Self.bytes("VmHWM:", of: process) - before }

  private static func bytes(_ name: String, of process: pid_t) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
  }
}
