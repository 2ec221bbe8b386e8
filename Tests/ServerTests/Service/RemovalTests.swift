import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaWire

@testable import VirgaServer

/// A backup is put back that knows nothing of what was removed after it.
@Suite struct ServiceRemovalTests {
  private let now = Timestamp(milliseconds: 1_700_000_000_000)
  private let notes: ContainerID = "iCloud.test"

  private func device(_ id: DeviceID) -> Device {
    Device(id: id, account: "home", name: id.rawValue, publicKey: [1], enrolled: now)
  }

  /// An account with three devices, tokens and a key.
  private func filled() throws -> Harness {
    let harness = Harness()
    try harness.write { [now, notes, device] transaction in
      let (accounts, credentials) = (Accounts(), Credentials())
      _ = try accounts.enrol(
        device("phone"), policy: .open, code: nil, isMasterCode: false, in: transaction, now: now)
      for name in ["laptop", "tablet"] as [DeviceID] { try accounts.add(device(name), in: transaction) }
      for name in ["laptop", "tablet"] as [DeviceID] {
        let token = WebToken(account: "home", device: name, container: notes, expires: now + .seconds(60))
        try accounts.putWebToken(digest: "web-\(name)", token, in: transaction, now: now)
      }
      for digest in ["kept", "revoked"] {
        try credentials.add(APIToken(container: notes, environment: .development), digest: digest, in: transaction)
      }
      _ = try credentials.shareToken(
        of: notes, in: .development, for: "home", digest: { "own-\($0)" }, transaction: transaction, now: now)
      for id in ["key-1", "key-2"] {
        let key = ServerKey(id: id, container: notes, environment: .development, name: id, publicKey: [2], created: now)
        _ = try credentials.add(key, in: transaction)
      }
      for code in ["used", "unused"] {
        try accounts.invite(
          digest: code, expires: now + .seconds(600), by: "home", in: transaction, now: now)
      }
    }
    return harness
  }

  private func entities(_ harness: Harness) throws -> [Entity] {
    try harness.write { transaction in
      let owners = ["home", "listed", "derived", "account/home"]
      return try Service.removable.flatMap { kind in
        try owners.flatMap { try transaction.entities(kind, owner: $0) }
      }
    }
  }

  @Test func whatWasRemovedAfterTheBackupIsRemovedAgain() throws {
    let (former, restored) = (try filled(), try filled())
    try former.write { [now, device] transaction in
      try Accounts().remove("tablet", from: "home", in: transaction, now: now)
      try Credentials().revokeToken("revoked", in: transaction, now: now)
      try Credentials().revokeToken("own-0", in: transaction, now: now)
      try Credentials().removeKey("key-2", in: transaction)
      var guest = device("guest")
      guest.account = "new"
      _ = try Accounts().enrol(
        guest, policy: .invite, code: "used", isMasterCode: false, in: transaction, now: now)
    }
    let (then, backup) = (try entities(former), try entities(restored))
    let counts = try restored.write { try Service().repeatRemovals(from: then, among: backup, in: $0) }
    #expect(counts == [.device: 1, .apiToken: 2, .webToken: 1, .serverKey: 1, .invitation: 1])
    try restored.write { [now, device] (transaction) throws in
      let (accounts, credentials) = (Accounts(), Credentials())
      #expect(try accounts.devices(of: "home", in: transaction).map(\.id) == ["laptop", "phone"])
      #expect(throws: ServiceError.deviceRemoved) { try accounts.add(device("tablet"), in: transaction) }
      #expect(try accounts.webToken(digest: "web-tablet", in: transaction) == nil)
      #expect(try accounts.webToken(digest: "web-laptop", in: transaction) != nil)
      #expect(try credentials.tokens(of: nil, in: transaction).map(\.digest) == ["kept"])
      // The next one that devices are given is another.
      #expect(
        try credentials.shareToken(
          of: "iCloud.test", in: .development, for: "home", digest: { "own-\($0)" }, transaction: transaction, now: now)
          == 1)
      #expect(try credentials.keys(of: nil, in: transaction).map(\.id) == ["key-1"])
      #expect(try transaction.entity(.invitation, key: "used") == nil)
      #expect(try transaction.entity(.invitation, key: "unused") != nil)
    }
  }

  @Test func nothingIsRemovedThatIsStillThere() throws {
    let (former, restored) = (try filled(), try filled())
    let (then, backup) = (try entities(former), try entities(restored))
    #expect(try restored.write { try Service().repeatRemovals(from: then, among: backup, in: $0) }.isEmpty)
    #expect(try entities(restored) == backup)
  }
}
