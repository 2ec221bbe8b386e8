package import VirgaModel
package import VirgaWire

/// The codes by which devices join accounts, and how far each has come.
///
/// A code goes one way: waiting, then asked by one device, then refused, or being accepted and accepted. It lives in memory for
/// `Limits.pairingCodeAge`; a server that starts anew knows no codes, and another one is quickly made.
package struct PairingTable: Sendable {
  /// A device that wants in, which has shown that it holds its key.
  package struct Candidate: Hashable, Sendable {
    package var id: DeviceID
    package var name: String
    package var publicKey: [UInt8]
    /// Where the account's key is to be sealed to, and the device's signature for that; the server only hands it on.
    package var box: String?
    package var boxSignature: String?

    package init(id: DeviceID, name: String, publicKey: [UInt8]) {
      self.id = id
      self.name = name
      self.publicKey = publicKey
    }
  }

  package enum State: Hashable, Sendable {
    case waiting
    case asked(Candidate)
    /// It was decided, and the device is about to be let in.
    case accepting(Candidate)
    case accepted(Candidate)
    case refused
  }

  private struct Pairing {
    var account: AccountID
    var inviter: DeviceID
    var expires: Timestamp
    var state = State.waiting
    var wrongGuesses = 0
    /// What the joining device shows when it asks how it went.
    var ticket = ""

    func lives(at now: Timestamp) -> Bool { PairingCode.lives(until: expires, now: now) }

    /// Whether it is between its decision and the device that is let in by it, who has to learn of it.
    var isAccepting: Bool { if case .accepting = state { true } else { false } }
  }

  // A code's first characters find the pairing and the rest proves knowledge of it: only then can a wrong guess be
  // counted against the code that it was aimed at.
  private static let prefixLength = 3
  private var pairings: [String: (secret: String, pairing: Pairing)] = [:]

  package init() {}

  /// Makes a code for an account; an earlier code of the same device ends.
  /// - Throws: `THROTTLED` if too many codes live.
  package mutating func invite(
    to account: AccountID, by inviter: DeviceID, now: Timestamp, random: inout some RandomNumberGenerator
  ) throws(ServiceError) -> (code: String, expires: Timestamp) {
    pairings = pairings.filter { _, entry in
      entry.pairing.isAccepting || entry.pairing.lives(at: now) && entry.pairing.inviter != inviter
    }
    guard pairings.count < Limits.pairingCodesMax else {
      throw ServiceError(.throttled, "too many codes wait to be used", retryAfterSeconds: 60)
    }
    while true {
      let code = PairingCode.draw(length: PairingCode.pairingLength, using: &random)
      let prefix = String(code.prefix(Self.prefixLength))
      if pairings[prefix] != nil { continue }
      let expires = now + Limits.pairingCodeAge
      pairings[prefix] = (code, Pairing(account: account, inviter: inviter, expires: expires))
      return (code, expires)
    }
  }

  /// Uses a code. The same device may ask again and gets its first ticket.
  /// - Parameter ticket: What the device is to show later; drawn by the caller.
  /// - Throws: `NOT_FOUND` if the code is wrong, used or too old.
  package mutating func join(
    code: String, candidate: Candidate, ticket: String, now: Timestamp, isEqual: (String, String) -> Bool
  ) throws(ServiceError) -> String {
    let prefix = String(code.prefix(Self.prefixLength))
    guard let (secret, found) = pairings[prefix], found.lives(at: now) else { throw .wrongCode }
    var pairing = found
    guard isEqual(secret, code) else {
      pairing.wrongGuesses += 1
      if pairing.wrongGuesses >= Limits.wrongGuessesPerCodeMax {
        pairings[prefix] = nil
      } else {
        pairings[prefix] = (secret, pairing)
      }
      throw .wrongCode
    }
    switch pairing.state {
    case .waiting:
      pairing.state = .asked(candidate)
      pairing.ticket = ticket
      pairings[prefix] = (secret, pairing)
      return ticket
    case .asked(let earlier) where earlier.id == candidate.id: return pairing.ticket
    case .asked, .accepting, .accepted, .refused: throw .wrongCode
    }
  }

  /// How far a code has come, for the device that made it.
  package func state(of code: String, madeBy inviter: DeviceID, now: Timestamp) throws(ServiceError) -> State {
    guard let (secret, pairing) = pairings[String(code.prefix(Self.prefixLength))], secret == code,
      pairing.inviter == inviter, pairing.lives(at: now)
    else { throw .wrongCode }
    return pairing.state
  }

  /// Decides on the device that asks, for the device that made the code. The first decision counts; the same one again, as
  /// after a lost answer, changes nothing.
  /// - Returns: `.accepting` if the caller is to let the device in and then `settle`; else `.accepted` or `.refused`.
  /// - Throws: `NOT_FOUND` if the code is wrong or too old, another device asks, or it was decided otherwise.
  package mutating func decide(
    _ code: String, accepts: Bool, device: DeviceID, by inviter: DeviceID, now: Timestamp
  ) throws(ServiceError) -> State {
    switch (try state(of: code, madeBy: inviter, now: now), accepts) {
    case (.asked(let candidate), true) where candidate.id == device:
      settle(code, as: .accepting(candidate), now: now)
      return .accepting(candidate)
    case (.asked(let candidate), false) where candidate.id == device:
      settle(code, as: .refused, now: now)
      return .refused
    case (.accepted(let candidate), true) where candidate.id == device: return .accepted(candidate)
    case (.refused, false): return .refused
    default: throw .wrongCode
    }
  }

  /// Notes how far a code has come. A device that was let in has the time of a new code to learn of it.
  /// - Precondition: An accepted candidate was enrolled before.
  package mutating func settle(_ code: String, as state: State, now: Timestamp) {
    let prefix = String(code.prefix(Self.prefixLength))
    guard let (secret, pairing) = pairings[prefix], secret == code else { return }
    var settled = pairing
    settled.state = state
    if case .accepted = state { settled.expires = max(settled.expires, now + Limits.pairingCodeAge) }
    pairings[prefix] = (secret, settled)
  }

  /// How far a code has come, for the device that used it.
  /// - Throws: `NOT_FOUND` if the ticket is unknown or too old.
  package func outcome(for ticket: String, now: Timestamp) throws(ServiceError) -> (state: State, account: AccountID) {
    let found = pairings.values.first { entry in
      entry.pairing.ticket == ticket && !ticket.isEmpty && (entry.pairing.lives(at: now) || entry.pairing.isAccepting)
    }
    guard let found else { throw .wrongCode }
    return (found.pairing.state, found.pairing.account)
  }
}

extension PairingCode {
  /// Whether a code that ends then still counts. A clock that is set back far ends it, instead of letting it take up room
  /// for as long as the clock was wrong. A small step ends none, nor does a request that began before the code was made.
  static func lives(until expires: Timestamp, now: Timestamp) -> Bool {
    now < expires && expires <= now + Limits.pairingCodeAge * 2
  }
}

extension ServiceError {
  package static let wrongCode = ServiceError(.notFound, AccountReason.wrongCode)
}
