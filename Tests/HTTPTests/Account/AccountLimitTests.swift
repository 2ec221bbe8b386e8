import Testing
import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

extension GuessLimiter {
  /// A guess that is judged at once.
  fileprivate mutating func recordWrongGuess(from address: String, now: Timestamp) {
    _ = begin(from: address, now: now)
    end(from: address, wasWrong: true, now: now)
  }

  /// How long the address has to wait; `nil` when it may guess.
  fileprivate func wait(for address: String, now: Timestamp) -> Duration? {
    var copy = self
    guard case .wait(let wait) = copy.begin(from: address, now: now) else { return nil }
    return wait
  }
}

@Suite struct AccountLimitTests {
  private let start = Timestamp(milliseconds: 1_800_000_000_000)

  // MARK: Guesses

  @Test func addressWaitsAfterTheLastAllowedGuessAndNotBefore() {
    var limiter = GuessLimiter()
    for guess in 1...Limits.wrongGuessesPerAddressMax {
      #expect(limiter.wait(for: "a", now: start) == nil, "before guess \(guess)")
      limiter.recordWrongGuess(from: "a", now: start)
    }
    #expect(limiter.wait(for: "a", now: start) == Limits.guessWindow)
    #expect(limiter.wait(for: "b", now: start) == nil)
    let end = start + Limits.guessWindow
    #expect(limiter.wait(for: "a", now: end - .milliseconds(1)) == .milliseconds(1))
    #expect(limiter.wait(for: "a", now: end) == nil)
  }

  /// What is being judged counts until it is known to be right.
  @Test func guessesThatAreMadeAtOnceAreCountedBeforeTheyAreJudged() {
    var limiter = GuessLimiter()
    for _ in 0..<Limits.wrongGuessesPerAddressMax { #expect(limiter.begin(from: "a", now: start) == .admitted) }
    #expect(limiter.begin(from: "a", now: start) == .wait(.seconds(1)))
    #expect(limiter.begin(from: "b", now: start) == .admitted)
    limiter.end(from: "a", wasWrong: false, now: start)
    #expect(limiter.begin(from: "a", now: start) == .admitted, "a right one is given back")
    for _ in 0..<Limits.wrongGuessesPerAddressMax { limiter.end(from: "a", wasWrong: true, now: start) }
    #expect(limiter.begin(from: "a", now: start) == .wait(Limits.guessWindow))
  }

  @Test func windowBeginsAnewAfterItsEnd() {
    var limiter = GuessLimiter()
    limiter.recordWrongGuess(from: "a", now: start)
    let later = start + Limits.guessWindow
    for _ in 1..<Limits.wrongGuessesPerAddressMax { limiter.recordWrongGuess(from: "a", now: later) }
    #expect(limiter.wait(for: "a", now: later) == nil)
    limiter.recordWrongGuess(from: "a", now: later)
    #expect(limiter.wait(for: "a", now: later) == Limits.guessWindow)
  }

  @Test func longestRememberedAddressIsForgottenForAnother() {
    var limiter = GuessLimiter()
    func block(_ address: String, at moment: Timestamp) {
      for _ in 0..<Limits.wrongGuessesPerAddressMax { limiter.recordWrongGuess(from: address, now: moment) }
    }
    block("first", at: start)
    for number in 1..<Limits.guessingAddressesMax {
      limiter.recordWrongGuess(from: "\(number)", now: start + .milliseconds(1))
    }
    #expect(limiter.wait(for: "first", now: start + .milliseconds(2)) != nil)
    limiter.recordWrongGuess(from: "one more", now: start + .milliseconds(2))
    #expect(limiter.wait(for: "first", now: start + .milliseconds(2)) == nil)
  }

  @Test func clockThatGoesBackKeepsNobodyOut() throws {
    let yesterday = start - .seconds(86_400)
    var limiter = GuessLimiter()
    for _ in 0..<Limits.wrongGuessesPerAddressMax { limiter.recordWrongGuess(from: "a", now: start) }
    #expect(limiter.wait(for: "a", now: yesterday) == nil)
    for _ in 0..<Limits.wrongGuessesPerAddressMax { limiter.recordWrongGuess(from: "a", now: yesterday) }
    #expect(limiter.wait(for: "a", now: yesterday) == Limits.guessWindow)

    var random = SystemRandom()
    var pairings = PairingTable()
    for number in 0..<Limits.pairingCodesMax {
      _ = try pairings.invite(to: "account", by: DeviceID("\(number)"), now: start, random: &random)
    }
    _ = try pairings.invite(to: "account", by: "one more", now: yesterday, random: &random)

    var signIns = SignInTable()
    let request = SignInTable.Request(
      container: "iCloud.a", tokenDigest: "", tokenName: nil, origin: nil, callback: nil)
    for number in 0..<Limits.signInsPerAddressMax {
      _ = try signIns.begin(request, ticket: "\(number)", address: "a", now: start, random: &random)
    }
    _ = try signIns.begin(request, ticket: "one more", address: "a", now: yesterday, random: &random)
  }

  /// A clock is corrected by a step, and a request that began first may come to the tables last.
  @Test(arguments: [Duration.milliseconds(1), .seconds(300)])
  func smallStepOfTheClockEndsNothing(step: Duration) throws {
    let before = start - step
    var limiter = GuessLimiter()
    for _ in 1..<Limits.wrongGuessesPerAddressMax { limiter.recordWrongGuess(from: "a", now: start) }
    limiter.recordWrongGuess(from: "a", now: before)
    #expect(limiter.wait(for: "a", now: before) == Limits.guessWindow + step)
    #expect(limiter.wait(for: "a", now: start) == Limits.guessWindow)

    var random = SystemRandom()
    var pairings = PairingTable()
    let code = try pairings.invite(to: "account", by: "phone", now: start, random: &random).code
    _ = try pairings.invite(to: "account", by: "tablet", now: before, random: &random)
    #expect(try pairings.state(of: code, madeBy: "phone", now: before) == .waiting)
    let candidate = PairingTable.Candidate(id: "laptop", name: "laptop", publicKey: [])
    #expect(try pairings.join(code: code, candidate: candidate, ticket: "t", now: before, isEqual: ==) == "t")
    #expect(try pairings.outcome(for: "t", now: before).account == "account")

    var signIns = SignInTable()
    let request = SignInTable.Request(
      container: "iCloud.a", tokenDigest: "", tokenName: nil, origin: nil, callback: nil)
    let shown = try signIns.begin(request, ticket: "t", address: "a", now: start, random: &random).code
    _ = try signIns.begin(request, ticket: "u", address: "a", now: before, random: &random)
    #expect(try signIns.state(of: "t", now: before) == .waiting)
    #expect(try signIns.request(of: shown, now: before, isEqual: ==) == request)
  }

  // MARK: Pairing codes

  @Test func serverHoldsSoManyCodesAndNoMore() throws {
    var table = PairingTable()
    var random = SystemRandom()
    for number in 0..<Limits.pairingCodesMax {
      _ = try table.invite(to: "account", by: DeviceID("\(number)"), now: start, random: &random)
    }
    let error = #expect(throws: ServiceError.self) {
      _ = try table.invite(to: "account", by: "one more", now: start, random: &random)
    }
    #expect(error?.code == .throttled)
    // A device may always replace its own, and the time makes room.
    _ = try table.invite(to: "account", by: "0", now: start, random: &random)
    _ = try table.invite(to: "account", by: "one more", now: start + Limits.pairingCodeAge, random: &random)
  }

  @Test func codesAreReadableAndForgiving() {
    var random = SystemRandom()
    for _ in 0..<200 {
      let code = PairingCode.draw(length: PairingCode.pairingLength, using: &random)
      #expect(code.count == 8)
      #expect(!code.contains { "01ILOU".contains($0) })
      let spelled = PairingCode.spelled(code)
      #expect(spelled.count == 9)
      #expect(PairingCode.plain(" \(spelled.lowercased()) ") == code)
    }
    #expect(PairingCode.spelled("ABCDEFGHJ") == "ABCD-EFGH-J")
    #expect(PairingCode.spelled("") == "")
  }

  // MARK: Tokens and names

  @Test func accountHoldsSoManyValidWebTokensAndNoMore() async throws {
    let store = MemoryStore()
    let start = start
    let put: @Sendable (String, Timestamp) async throws -> Void = { digest, now in
      let token = WebToken(account: "a", device: "d", container: "c", expires: now + Limits.webTokenAge)
      try await store.write { try Accounts().putWebToken(digest: digest, token, in: $0, now: now) }
    }
    for number in 0..<Limits.webTokensPerAccountMax { try await put("\(number)", start) }
    let error = await #expect(throws: ServiceError.self) { try await put("one more", start) }
    #expect(error?.reason.hasPrefix(Reason.limitExceeded) == true)
    // Those that have ended make room.
    try await put("later", start + Limits.webTokenAge + .milliseconds(1))
    let left = try await store.read { try $0.entities(.webToken, owner: "a").map(\.key) }
    #expect(left == ["later"])
  }

  @Test(arguments: [
    (Limits.deviceNameLengthMax - 1, true), (Limits.deviceNameLengthMax, true), (Limits.deviceNameLengthMax + 1, false),
  ])
  func deviceNameHasALength(length: Int, isGood: Bool) {
    #expect((Device.objection(toName: String(repeating: "ñ", count: length)) == nil) == isGood)
  }

  @Test func clientSendsNamesThatTheServerTakes() async throws {
    let world = AccountWorld()
    for name in ["", "caf\u{e9}\u{1b}[2J", String(repeating: "x", count: 500), "Ana's phone"] {
      #expect(try await world.device(name).describe().devices.count == 1)
    }
  }
}
