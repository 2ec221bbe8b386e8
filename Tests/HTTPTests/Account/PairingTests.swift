import Foundation
import Testing
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct PairingTests {
  @Test func deviceJoinsByCodeOnceConfirmed() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    let code = try await phone.invite()
    #expect(code.code.wholeMatch(of: /[2-9A-HJKMNP-TV-Z]{4}-[2-9A-HJKMNP-TV-Z]{4}/) != nil)
    let fingerprints = Fingerprints()
    async let joined = laptop.join(
      code: code.code.lowercased(), replacing: false, announce: { fingerprints.add($0) })
    let candidate = try await phone.candidate(for: code.code)
    #expect(candidate.name == "laptop")
    #expect(fingerprints.all == [candidate.fingerprint])
    let description = try await phone.confirm(candidate, code: code.code, accepts: true)
    #expect(description.devices.map(\.name).sorted() == ["laptop", "phone"])
    #expect(try await joined.account == phone.session().account)
    #expect(try await laptop.session().account == phone.session().account)
    let seen = try await laptop.describe()
    #expect(seen.devices.first { $0.isThisDevice }?.name == "laptop")
  }

  @Test func refusedDeviceLearnsThatItWasRefused() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    let code = try await phone.invite()
    let joining = Task { try await laptop.join(code: code.code, replacing: false, announce: { _ in }) }
    let candidate = try await phone.candidate(for: code.code)
    _ = try await phone.confirm(candidate, code: code.code, accepts: false)
    await #expect(throws: AccountError.joiningRefused) { try await joining.value }
    #expect(try await phone.describe().devices.count == 1)
  }

  /// Two people at one device, or one who thinks again while the answer is on its way: one decision counts, and the device
  /// that asks hears of that one.
  @Test(arguments: 0..<8) func yesAndNoAtOnceHaveOneWinner(round: Int) async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let code = try await phone.invite().code
    let laptop = try SigningKey.generate()
    let ticket = try await world.join(laptop, code: code)
    let session = try await phone.session().token
    let device = DeviceID(of: laptop.publicKey)
    let answers = await withTaskGroup(of: (accepts: Bool, status: Int).self) { group in
      for number in round..<(round + 6) {
        group.addTask {
          let accepts = number.isMultiple(of: 2)
          let body = #"{"code":"\#(code)","device":"\#(device)","accepts":\#(accepts)}"#
          return (accepts, await world.post("pairing/confirm", body, session: session).status)
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    let isIn = try await phone.describe().devices.count == 2
    // The same decision may be told while the device is still being let in, or afterwards.
    for answer in answers where answer.accepts != isIn { #expect(answer.status == 404) }
    #expect(answers.contains { $0.accepts == isIn && $0.status == 200 })
    let outcome = await world.post("pairing/result", ticket.body)
    #expect(outcome.body.contains("enrolled") == isIn, "\(outcome)")
    #expect(outcome.body.contains(#""isRefused":true"#) != isIn, "\(outcome)")
    // A lost answer is asked for again.
    for accepts in [true, false] {
      let body = #"{"code":"\#(code)","device":"\#(device)","accepts":\#(accepts)}"#
      #expect(await world.post("pairing/confirm", body, session: session).status == (accepts == isIn ? 200 : 404))
    }
  }

  /// A new code of the inviting device, and the end of the old one's time, come too late for a decision that was taken.
  @Test func whoIsBeingLetInHearsOfIt() throws {
    let start = Timestamp(milliseconds: 1_800_000_000_000)
    var (table, random) = (PairingTable(), SystemRandom())
    let code = try table.invite(to: "account", by: "phone", now: start, random: &random).code
    let laptop = PairingTable.Candidate(id: "laptop", name: "laptop", publicKey: [1])
    _ = try table.join(code: code, candidate: laptop, ticket: "t", now: start, isEqual: ==)
    let end = start + Limits.pairingCodeAge - .milliseconds(1)
    #expect(try table.decide(code, accepts: true, device: "laptop", by: "phone", now: end) == .accepting(laptop))
    for accepts in [true, false] {
      #expect(throws: ServiceError.wrongCode) {
        try table.decide(code, accepts: accepts, device: "laptop", by: "phone", now: end)
      }
    }
    _ = try table.invite(to: "account", by: "phone", now: end, random: &random)
    let later = end + .seconds(5)
    #expect(try table.outcome(for: "t", now: later).state == .accepting(laptop))
    table.settle(code, as: .accepted(laptop), now: later)
    #expect(try table.outcome(for: "t", now: later + .seconds(60)).state == .accepted(laptop))
    #expect(throws: ServiceError.wrongCode) { try table.outcome(for: "t", now: later + Limits.pairingCodeAge) }
  }

  @Test func deviceThatCouldNotBeLetInMayBeRefused() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let laptop = try SigningKey.generate()
    let challenge = try await world.challenge()
    #expect(try await world.enrol(laptop, challenge: challenge).status == 200)
    let code = try await phone.invite().code
    let ticket = try await world.join(laptop, code: code)
    let candidate = try await phone.candidate(for: code)
    await #expect(throws: AccountError.self) { try await phone.confirm(candidate, code: code, accepts: true) }
    _ = try await phone.confirm(candidate, code: code, accepts: false)
    #expect(await world.post("pairing/result", ticket.body).body.contains(#""isRefused":true"#))
  }

  @Test func nobodyIsInBeforeTheConfirmation() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let code = try await phone.invite()
    let key = try SigningKey.generate()
    #expect(try await world.join(key, code: code.code).status == 200)
    #expect(try await world.openSession(key, challenge: try await world.challenge()).status == 401)
    #expect(try await phone.describe().devices.count == 1)
  }

  @Test func codeWorksForOneDevice() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let code = try await phone.invite()
    let (first, second) = (try SigningKey.generate(), try SigningKey.generate())
    let ticket = try await world.join(first, code: code.code)
    #expect(ticket.status == 200)
    #expect(try await world.join(second, code: code.code).status == 404)
    // The first one may have missed its answer.
    #expect(try await world.join(first, code: code.code).body == ticket.body)
    let candidate = try await phone.candidate(for: code.code)
    _ = try await phone.confirm(candidate, code: code.code, accepts: true)
    #expect(try await world.join(second, code: code.code).status == 404)
    await #expect(throws: AccountError.wrongCode) { try await phone.candidate(for: code.code) }
  }

  @Test func codeEndsAfterTenMinutes() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let code = try await phone.invite()
    world.clock.advance(by: .seconds(600) - .milliseconds(1))
    let key = try SigningKey.generate()
    let ticket = try await world.join(key, code: code.code)
    #expect(ticket.status == 200)
    world.clock.advance(by: .milliseconds(1))
    #expect(try await world.join(key, code: code.code).status == 404)
    #expect(await world.post("pairing/result", ticket.body).status == 404)
    await #expect(throws: AccountError.wrongCode) { try await phone.candidate(for: code.code) }
  }

  @Test func whoIsNotConfirmedInTimeIsToldSo() async throws {
    let world = AccountWorld(pollAge: .milliseconds(150))
    let phone = try world.device("phone")
    let code = try await phone.invite().code
    let laptop = try world.device("laptop")
    let joining = Task { try await laptop.join(code: code, replacing: false, announce: { _ in }) }
    _ = try await phone.candidate(for: code)
    world.clock.advance(by: Limits.pairingCodeAge)
    await #expect(throws: AccountError.joiningNotConfirmed) { try await joining.value }
  }

  @Test func devicesAreCalledWhatTheirPeopleCallThem() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let tablet = try world.device("täblet 日本 😀\u{1b}[2J")
    try await world.pair(phone, tablet)
    #expect(try await phone.describe().devices.map(\.name).sorted() == ["phone", "täblet 日本 😀[2J"])
  }

  @Test func newCodeEndsTheEarlierOneOfItsDevice() async throws {
    let world = AccountWorld()
    let phone = try world.device("phone")
    let (first, second) = (try await phone.invite(), try await phone.invite())
    #expect(try await world.join(try SigningKey.generate(), code: first.code).status == 404)
    #expect(try await world.join(try SigningKey.generate(), code: second.code).status == 200)
  }

  @Test func codeIsVoidAfterAFewWrongGuessesAtIt() async throws {
    let world = AccountWorld()
    let code = PairingCode.plain(try await world.device("phone").invite().code)
    let wrong = String(code.dropLast()) + (code.last == "2" ? "3" : "2")
    for guess in 0..<Limits.wrongGuessesPerCodeMax {
      // Each from elsewhere: the code counts for itself.
      #expect(
        try await world.join(try SigningKey.generate(), code: wrong, address: "198.51.100.\(guess)").status == 404)
    }
    #expect(try await world.join(try SigningKey.generate(), code: code).status == 404)
  }

  @Test func addressMayNotGuessOnAndOn() async throws {
    let world = AccountWorld()
    for _ in 0..<Limits.wrongGuessesPerAddressMax {
      #expect(try await world.join(try SigningKey.generate(), code: "22222222").status == 404)
    }
    let code = try await world.device("phone").invite().code
    #expect(try await world.join(try SigningKey.generate(), code: code).status == 429)
  }

  @Test func onlyTheInvitingDeviceConfirmsAndOnlyWhatItSaw() async throws {
    let world = AccountWorld()
    let (phone, stranger) = (try world.device("phone"), try world.device("stranger"))
    let code = try await phone.invite()
    #expect(try await world.join(try SigningKey.generate(), code: code.code).status == 200)
    let candidate = try await phone.candidate(for: code.code)
    await #expect(throws: AccountError.wrongCode) {
      try await stranger.confirm(candidate, code: code.code, accepts: true)
    }
    await #expect(throws: AccountError.wrongCode) { try await stranger.candidate(for: code.code) }
    var other = candidate
    other.device = "somebody-else"
    await #expect(throws: AccountError.wrongCode) { try await phone.confirm(other, code: code.code, accepts: true) }
    #expect(try await phone.describe().devices.count == 1)
  }

  @Test func deviceWithAnAccountJoinsAnotherOnlyWhenAskedTo() async throws {
    let world = AccountWorld()
    let (phone, laptop) = (try world.device("phone"), try world.device("laptop"))
    let old = try await laptop.session()
    let code = try await phone.invite()
    await #expect(throws: AccountError.hasAccount(old.account)) {
      try await laptop.join(code: code.code, replacing: false, announce: { _ in })
    }
    async let joined = laptop.join(code: code.code, replacing: true, announce: { _ in })
    let candidate = try await phone.candidate(for: code.code)
    _ = try await phone.confirm(candidate, code: code.code, accepts: true)
    #expect(try await joined.account == phone.session().account)
    #expect(try await laptop.session().account == phone.session().account)
    // The old account is still there, with its key.
    #expect(try await world.principal(session: old.token).account == old.account)
  }

  @Test func accountHasALimitOfDevices() async throws {
    let world = AccountWorld()
    let account = AccountID("a")
    let enrolled = world.clock.now
    for number in 0..<Limits.devicesPerAccountMax {
      let device = Device(
        id: DeviceID("d\(number)"), account: account, name: "d", publicKey: [], enrolled: enrolled)
      try await world.store.write { try Accounts().add(device, in: $0) }
    }
    let device = Device(id: "one more", account: account, name: "d", publicKey: [], enrolled: enrolled)
    let error = await #expect(throws: ServiceError.self) {
      try await world.store.write { try Accounts().add(device, in: $0) }
    }
    #expect(error?.reason.hasPrefix(Reason.limitExceeded) == true)
  }

  @Test(arguments: ["", "ABC", "ABCD-EFGHI", "ABCD-EFGH-JKMN"])
  func codesOfAnotherLengthAreNotSent(code: String) async throws {
    let device = AccountClient(
      home: try temporaryHome(), endpoint: "http://nowhere", transport: NoTransport(), deviceName: "phone",
      now: { Timestamp(milliseconds: 0) })
    await #expect(throws: AccountError.wrongCode) {
      try await device.join(code: code, replacing: false, announce: { _ in })
    }
  }

  @Test func errorOfTheTransportComesOutAsItIs() async throws {
    let device = AccountClient(
      home: try temporaryHome(), endpoint: "http://nowhere", transport: NoTransport(), deviceName: "phone",
      now: { Timestamp(milliseconds: 0) })
    await #expect(throws: NoTransport.Unreachable.self) { try await device.session() }
    #expect(try device.knownAccount() == nil)
  }

  @Test func aServerThatLetsNobodyWaitIsNotAskedWithoutEnd() async throws {
    let world = AccountWorld(pollAge: .zero)
    let phone = try world.device("phone")
    let code = try await phone.invite()
    let error = AccountError.badAnswer("the server answers at once, although it should wait for the other device")
    await #expect(throws: error) { try await phone.candidate(for: code.code) }
    let laptop = try world.device("laptop")
    await #expect(throws: error) { try await laptop.join(code: code.code, replacing: false, announce: { _ in }) }
  }

  @Test func parkedRequestEndsWithItsTask() async throws {
    let world = AccountWorld(pollAge: .seconds(3_600))
    let phone = try world.device("phone")
    let code = try await phone.invite()
    let waiting = Task { try await phone.candidate(for: code.code) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }
}

private struct NoTransport: AccountTransport {
  struct Unreachable: Error {}
  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) { throw Unreachable() }
}

extension AccountWorld {
  fileprivate func join(
    _ key: SigningKey, code: String, address: String = "192.0.2.9"
  ) async throws -> (status: Int, body: String) {
    let challenge = try await challenge()
    let text = SignedText.joining(
      server: challenge.server, challenge: challenge.challenge, code: code, name: "laptop")
    let request = AccountMessages.JoinRequest(
      code: code, publicKey: CanonicalBase64.encode(key.publicKey.der), name: "laptop", challenge: challenge.challenge,
      signature: CanonicalBase64.encode(try key.signature(of: text)))
    return await post(
      "pairing/join", String(decoding: try JSONEncoder().encode(request), as: UTF8.self), address: address)
  }
}
