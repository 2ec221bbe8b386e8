import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Nobody can take the room that others need for tokens and keys.
struct CredentialRoomTests {
  private static let now = Timestamp(milliseconds: 1)

  private static func token(of container: String, for account: AccountID, in transaction: any WriteTransaction) throws {
    _ = try Credentials().shareToken(
      of: ContainerID(container), in: .development, for: account, digest: { "\(container) \($0)" },
      transaction: transaction, now: now)
  }

  @Test func anAccountsContainersLeaveTheOperatorsTokensAlone() throws {
    let harness = Harness()
    let limit = Limits.containersPerAccountMax
    try harness.write { transaction in
      for number in 0..<limit { try Self.token(of: "c\(number)", for: "mallory", in: transaction) }
      #expect(throws: ServiceError.limitExceeded("containers of one account", observed: limit + 1, limit: limit)) {
        try Self.token(of: "more", for: "mallory", in: transaction)
      }
      // What is there already may be used, by the others too, and they may be first elsewhere.
      try Self.token(of: "c0", for: "mallory", in: transaction)
      try Self.token(of: "c0", for: "alice", in: transaction)
      try Self.token(of: "more", for: "alice", in: transaction)
      #expect(try Credentials().tokens(of: nil, in: transaction).count == limit + 1)
    }
  }

  /// However many containers the devices use, and however many accounts they are of.
  @Test func theOperatorHasRoomForATokenWhateverDevicesAskFor() throws {
    let harness = Harness()
    try harness.write { transaction in
      for number in 0...Limits.apiTokensMax {
        try Self.token(of: "c\(number)", for: AccountID("a\(number / 100)"), in: transaction)
      }
      try Credentials().add(APIToken(container: "iCloud.test", environment: .development), digest: "d", in: transaction)
      #expect(try Credentials().token(digest: "d", in: transaction) != nil)
    }
  }

  @Test func aRevokedTokenIsFollowedByTheNextOfItsContainer() throws {
    let harness = Harness()
    try harness.write { transaction in
      for _ in 0..<3 {
        try Self.token(of: "c", for: "alice", in: transaction)
        let known = try Credentials().tokens(of: "c", in: transaction)
        try #require(known.count == 1)
        try Credentials().revokeToken(known[0].digest, in: transaction, now: Self.now)
      }
      try Self.token(of: "c", for: "alice", in: transaction)
      #expect(try Credentials().tokens(of: nil, in: transaction).map(\.token.generation) == [3])
    }
  }

  // MARK: Keys

  private static let database = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")

  private static func add(
    _ names: [String], bytes: Int = 10, as user: UserName, in transaction: any WriteTransaction
  ) throws -> ServiceError? {
    let items = names.map { KeyRegistry.Item(name: $0, value: String(repeating: "x", count: bytes), added: now) }
    do {
      var random = SplitMix64(seed: 4)
      _ = try KeyRegistry().add(items, to: .zone("Diary", database, reader: user), in: transaction, random: &random)
      return nil
    } catch let error as ServiceError {
      return error
    }
  }

  @Test func aParticipantsKeysLeaveRoomForTheOwners() throws {
    let world = try ShareWorld()
    try world.shareWithBob()
    try world.harness.write { transaction in
      func names(_ count: Int, _ start: String) -> [String] { (0..<count).map { "\(start)\($0)" } }
      let many = names(Limits.keyItemsPerParticipantMax + 1, "participant/_bob/")
      #expect(try Self.add(many, as: "_bob", in: transaction)?.reason.contains("keys of one participant") == true)
      let large = try Self.add(names(2, "participant/_bob/x"), bytes: 40_000, as: "_bob", in: transaction)
      #expect(large?.reason.contains("keys of one participant") == true)
      #expect(try Self.add(names(5, "key/"), as: "_alice", in: transaction) == nil)
    }
  }

  @Test func aListOfKeysIsBoundedInBytes() throws {
    let world = try ShareWorld()
    try world.harness.write { transaction in
      var error: ServiceError?
      var count = 0
      while error == nil && count < 1_000 {
        error = try Self.add(["key/\(count)"], bytes: 40_000, as: "_alice", in: transaction)
        count += 1
      }
      #expect(error?.reason.hasPrefix("\(Reason.limitExceeded): bytes of the keys") == true)
      #expect(count - 1 == Limits.keyListBytesMax / 40_100)
      // What participants keep has room of its own.
      #expect(try Self.add(["participant/_bob/1"], as: "_alice", in: transaction) == nil)
    }
  }
}
