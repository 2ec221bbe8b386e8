import CloudKit
import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// Nothing of what a device encrypts is found where a server keeps anything.
@Suite(.timeLimit(.minutes(3))) struct SealingProgramTests {
  private static let secrets = [
    "Zwetschgenknoedel am Abend", "a pulse of 62 that nobody needs to know", "rain on the tin roof, again",
  ]

  private func container(_ home: String, _ server: ServerProcess) -> CKContainer {
    let service = RemoteService(
      endpoint: server.endpoint, environment: .development, home: VirgaHome(path: "\(server.folder.path)/\(home)"),
      transport: CurlTransport(), deviceName: home)
    return CKContainer("iCloud.sealed", on: service)
  }

  private func join(_ home: String, _ server: ServerProcess) async throws {
    let invite = try ProgramRun(server.account("invite", "--yes", home: "phone"))
    let code = try await invite.printed { text in
      text.firstMatch(of: /Code: ([0-9A-Z-]+)/).map { String($0.output.1) }
    }
    let joined = try await ProgramRun.run(server.account("join", code, "--name", home, home: home))
    #expect(joined.code == 0, "\(joined.errors)")
    #expect(await invite.end().code == 0)
    let shown = try await ProgramRun.run(server.account("show", home: "phone"))
    let key = try #require(shown.output.firstMatch(of: /Key +([0-9a-f ]+)\n/)?.output.1)
    #expect(joined.output.contains("Key for encrypted values: \(key)"))
  }

  @Test func dataBackupsAndLogsHoldNoByteOfWhatWasEncrypted() async throws {
    let server = try await ServerProcess(options: ["--log=json"])
    let phone = container("phone", server)
    let zone = CKRecordZone(zoneName: "Diary")
    _ = try await phone.privateCloudDatabase.save(zone)
    let record = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "one", zoneID: zone.zoneID))
    record["title"] = "this is plain"
    record.encryptedValues["text"] = Self.secrets[0]
    record.encryptedValues["raw"] = Data(Self.secrets[1].utf8)
    record.encryptedValues["list"] = [Self.secrets[2], Self.secrets[0]]
    _ = try await phone.privateCloudDatabase.save(record)

    // Another device joins, reads, and is in conflict; versions and refusals lie on the server too.
    try await join("laptop", server)
    let laptop = container("laptop", server)
    let theirs = try await laptop.privateCloudDatabase.record(for: record.recordID)
    #expect(theirs.encryptedValues["text"] as? String == Self.secrets[0])
    theirs.encryptedValues["text"] = Self.secrets[1]
    _ = try await laptop.privateCloudDatabase.save(theirs)
    record.encryptedValues["text"] = Self.secrets[2]
    let error = await #expect(throws: CKError.self) { try await phone.privateCloudDatabase.save(record) }
    #expect(error?.serverRecord?.encryptedValues["text"] as? String == Self.secrets[1])
    let share = CKShare(rootRecord: theirs)
    share.publicPermission = .readOnly
    _ = try await laptop.privateCloudDatabase.modifyRecords(saving: [theirs, share], deleting: [])
    let fragment = try #require(share.url?.fragment)

    // A guest who accepts from a shell reads the values in an app.
    let address = try #require(share.url?.absoluteString)
    let accepted = try await ProgramRun.run([
      "account", "accept", address, "--home", server.folder.path + "/guest",
    ])
    #expect(accepted.code == 0 && accepted.errors.isEmpty, "\(accepted.errors)")
    // One whose address lost its end learns that values stay closed.
    let cut = try await ProgramRun.run([
      "account", "accept", address.prefix { $0 != "#" } + "#bad", "--home", server.folder.path + "/other",
    ])
    #expect(cut.code == 0 && cut.errors.contains("the part after # in the address is not a key"), "\(cut)")
    let guest = container("guest", server).sharedCloudDatabase
    let shared = try #require(try await guest.databaseChanges(since: nil).modifications.first?.zoneID)
    let seen = try await guest.record(for: CKRecord.ID(recordName: "one", zoneID: shared))
    #expect(seen.encryptedValues["text"] as? String == Self.secrets[1])

    // A removed device leaves keys behind as well.
    let devices = try await ProgramRun.run(server.account("devices", home: "phone"))
    let id = try #require(devices.output.firstMatch(of: /([0-9a-f]{32}) .* laptop/)?.output.1)
    #expect(try await ProgramRun.run(server.account("remove", String(id), "--yes", home: "phone")).code == 0)
    let later = container("phone", server)
    let last = CKRecord(recordType: "Entry", recordID: CKRecord.ID(recordName: "two", zoneID: zone.zoneID))
    last.encryptedValues["text"] = Self.secrets[2]
    _ = try await later.privateCloudDatabase.save(last)

    let backup = server.folder.path + "/backup"
    #expect(try await ProgramRun.run(["backup", backup, "--data", server.data]).code == 0)
    let end = await server.terminate()
    var haystacks = [("log", Data((end.output + end.errors).utf8))]
    for folder in [server.data, backup] {
      for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
        if let data = FileManager.default.contents(atPath: folder + "/" + name) { haystacks.append((name, data)) }
      }
    }
    #expect(haystacks.contains { $0.1.range(of: Data("this is plain".utf8)) != nil }, "the search would find it")
    #expect(haystacks[0].1.range(of: Data("records/modify".utf8)) != nil)

    var needles: [(String, Data)] = []
    for secret in Self.secrets { needles += Self.forms(of: Data(secret.utf8), secret) }
    for home in ["phone", "laptop"] {
      let path = "\(server.folder.path)/\(home)"
      for name in try FileManager.default.contentsOfDirectory(atPath: path) where name.hasSuffix(".keys") {
        let file = try JSONSerialization.jsonObject(with: try Data(contentsOf: URL(fileURLWithPath: path + "/" + name)))
        let keys = try #require((file as? [String: Any])?["keys"] as? [String])
        #expect(keys.count == (home == "phone" ? 2 : 1))
        for key in keys { needles += Self.forms(of: try #require(Data(base64Encoded: key)), "a key of \(home)") }
      }
    }
    let secret = try #require(fragment.split(separator: ".").last)
    needles.append(("the key in a share's address", Data(secret.utf8)))
    for (what, needle) in needles {
      for (name, data) in haystacks { #expect(data.range(of: needle) == nil, "\(what) in \(name)") }
    }
  }

  /// Bytes as they may be found: as they are, as hexadecimal digits, and inside Base64 at each of its three offsets.
  private static func forms(of data: Data, _ name: String) -> [(String, Data)] {
    var forms = [(name, data), ("\(name), hexadecimal", Data(Hex.encode(Array(data)).utf8))]
    for skip in 0..<3 {
      let whole = data.dropFirst(skip)
      let text = Data(whole.prefix(whole.count / 3 * 3)).base64EncodedString()
      forms.append(("\(name), Base64", Data(text.utf8)))
    }
    return forms
  }
}
