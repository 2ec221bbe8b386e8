import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// Years of health metrics on a watch, a phone and a tablet, against a real server.
///
/// `VIRGA_HEALTH_METRICS=100000 swift test --filter HealthMetricsTests` does it with as many as one person has.
struct HealthMetricsTests {
  private static let count =
    ProcessInfo.processInfo.environment["VIRGA_HEALTH_METRICS"].flatMap { Int($0) } ?? 1_000

  @Test(.timeLimit(.minutes(10))) func threeDevicesHoldTheSameMetricsThroughEditsConflictsAndACrash() async throws {
    let server = try await ServerProcess()
    let phone = try HealthDevice(database("phone", server), path: server.folder.path + "/phone.sqlite")
    try await phone.sync()
    try await join("watch", server)
    try await join("tablet", server)
    let watch = try HealthDevice(database("watch", server), path: server.folder.path + "/watch.sqlite")
    let tablet = try HealthDevice(database("tablet", server), path: server.folder.path + "/tablet.sqlite")
    let devices = [phone, watch, tablet]

    // Two measure at once.
    let beats = Self.metrics("watch", "heartRate", Self.count * 3 / 4)
    let steps = Self.metrics("phone", "stepCount", Self.count / 4)
    try watch.measure(beats)
    try phone.measure(steps)
    try await syncUntilIdle(devices)
    var expected = Dictionary(uniqueKeysWithValues: (beats + steps).map { ($0.name, $0) })
    try check(devices, expected)

    // All are offline, and edit what the others edit and delete.
    let names = expected.keys.sorted()
    let (onPhone, onTablet) = (Array(names[0..<200]), Array(names[100..<300]))
    let deleted = Array(names[50..<120]) + Array(names[280..<300])
    try phone.write("from the phone", to: onPhone, at: 1_000)
    try tablet.write("from the tablet", to: onTablet, at: 2_000)
    try watch.delete(deleted)
    try await syncUntilIdle(devices)
    for (names, note, time) in [(onPhone, "from the phone", 1_000), (onTablet, "from the tablet", 2_000)] {
      for name in names {
        expected[name]?.note = note
        expected[name]?.edited = time
      }
    }
    for name in deleted { expected[name] = nil }
    try check(devices, expected)

    // The server dies in the middle of an upload.
    let more = Self.metrics("watch", "respiratoryRate", Self.count / 2 + 800)
    try watch.measure(more)
    let process = server.run.process
    watch.atSaves(beats.count + 400) { kill(process, SIGKILL) }
    await #expect(throws: CKError.self) { try await watch.send() }
    await server.kill()
    try await server.restart()
    try await syncUntilIdle(devices)
    for metric in more { expected[metric.name] = metric }
    try check(devices, expected)

    // A program that starts again goes on where it was, and a new one reads everything.
    let restarted = try HealthDevice(database("phone", server), path: server.folder.path + "/phone.sqlite")
    let new = try HealthDevice(database("tablet", server), path: server.folder.path + "/new.sqlite")
    try await syncUntilIdle([restarted, new])
    try check([restarted, new], expected)
    await server.terminate()
  }

  private static func metrics(_ device: String, _ kind: String, _ count: Int) -> [HealthDevice.Metric] {
    (0..<count).map { number in
      HealthDevice.Metric(
        name: "\(kind)-\(device)-\(number)", kind: kind, start: 1_700_000_000 + number * 60,
        value: Double(number % 977) / 7, note: "", edited: 0)
    }
  }

  /// All at once, again and again: what one sends, another has to fetch, and a conflict is sent again.
  private func syncUntilIdle(_ devices: [HealthDevice]) async throws {
    for _ in 0..<4 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for device in devices { group.addTask { try await device.sync() } }
        try await group.waitForAll()
      }
    }
    for device in devices { #expect(device.isIdle) }
  }

  private func check(_ devices: [HealthDevice], _ expected: [String: HealthDevice.Metric]) throws {
    for device in devices {
      #expect(device.faults == [])
      let found = try device.metrics()
      let missing = expected.values.filter { !found.contains($0) }
      let surplus = found.filter { expected[$0.name] != $0 }
      #expect(missing.isEmpty && surplus.isEmpty, "missing \(missing.prefix(3)), surplus \(surplus.prefix(3))")
    }
  }

  private func database(_ home: String, _ server: ServerProcess) -> CKDatabase {
    let service = RemoteService(
      endpoint: server.endpoint, environment: .development, home: VirgaHome(path: "\(server.folder.path)/\(home)"),
      transport: CurlTransport(), deviceName: home)
    return CKContainer("iCloud.health", on: service).privateCloudDatabase
  }

  private func join(_ home: String, _ server: ServerProcess) async throws {
    let invite = try ProgramRun(server.account("invite", "--yes", home: "phone"))
    let code = try await invite.printed { text in
      text.firstMatch(of: /Code: ([0-9A-Z-]+)/).map { String($0.output.1) }
    }
    let joined = try await ProgramRun.run(server.account("join", code, "--name", home, home: home))
    #expect(joined.code == 0, "\(joined.errors)")
    #expect(await invite.end().code == 0)
  }
}
