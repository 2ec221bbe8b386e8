package import VirgaModel
package import VirgaWire

/// The codes that sign-in pages show, and how far each has come.
///
/// A code goes one way: waiting, then accepted or refused by a device, then collected by the page, once. It lives in
/// memory for `Limits.pairingCodeAge`; after a restart the page shows another one.
package struct SignInTable: Sendable {
  /// What a page asks for.
  package struct Request: Hashable, Sendable {
    package var container: ContainerID
    /// The digest of the API token with which the sign-in began.
    package var tokenDigest: String
    /// What the operator calls that token.
    package var tokenName: String?
    /// The page that is given the token; `nil` where no page asked.
    package var origin: String?
    /// Where the browser is sent with the token; `nil` if it is posted to the page.
    package var callback: String?

    package init(
      container: ContainerID, tokenDigest: String, tokenName: String?, origin: String?, callback: String?
    ) {
      self.container = container
      self.tokenDigest = tokenDigest
      self.tokenName = tokenName
      self.origin = origin
      self.callback = callback
    }
  }

  package enum State: Hashable, Sendable {
    case waiting
    case accepted(account: AccountID, device: DeviceID)
    case refused
  }

  private struct SignIn {
    var code: String
    var ticket: String
    var request: Request
    var address: String
    var expires: Timestamp
    var state = State.waiting
    var wrongGuesses = 0

    func lives(at now: Timestamp) -> Bool { PairingCode.lives(until: expires, now: now) }
  }

  // As in `PairingTable`: the first characters find the code, the rest proves knowledge of it.
  private static let prefixLength = 3
  private var signIns: [String: SignIn] = [:]
  /// By what the page shows to ask how it went: the code's first characters.
  private var tickets: [String: String] = [:]

  package init() {}

  /// Makes a code for a page.
  /// - Parameter ticket: What the page is to show later, and nobody else knows; drawn by the caller.
  /// - Throws: `THROTTLED` if too many codes live, or too many of that address.
  package mutating func begin(
    _ request: Request, ticket: String, address: String, now: Timestamp, random: inout some RandomNumberGenerator
  ) throws(ServiceError) -> (code: String, expires: Timestamp) {
    forgetOld(now: now)
    let ofAddress = signIns.values.count { $0.address == address }
    guard signIns.count < Limits.pairingCodesMax, ofAddress < Limits.signInsPerAddressMax else {
      throw ServiceError(.throttled, "too many sign-ins are under way", retryAfterSeconds: 60)
    }
    while true {
      let code = PairingCode.draw(length: PairingCode.pairingLength, using: &random)
      let prefix = String(code.prefix(Self.prefixLength))
      if signIns[prefix] != nil { continue }
      let expires = now + Limits.pairingCodeAge
      signIns[prefix] = SignIn(code: code, ticket: ticket, request: request, address: address, expires: expires)
      tickets[ticket] = prefix
      return (code, expires)
    }
  }

  /// What a code asks for, while it waits.
  /// - Throws: `NOT_FOUND` if the code is wrong, used or too old.
  package mutating func request(
    of code: String, now: Timestamp, isEqual: (String, String) -> Bool
  ) throws(ServiceError) -> Request {
    try waiting(code, now: now, isEqual: isEqual).request
  }

  /// Settles a code as a device decides.
  /// - Throws: as `request`.
  package mutating func settle(
    _ code: String, as state: State, now: Timestamp, isEqual: (String, String) -> Bool
  ) throws(ServiceError) {
    var signIn = try waiting(code, now: now, isEqual: isEqual)
    signIn.state = state
    signIns[String(code.prefix(Self.prefixLength))] = signIn
  }

  /// How far a page's code has come.
  /// - Throws: `NOT_FOUND` if the ticket is unknown, used or too old.
  package func state(of ticket: String, now: Timestamp) throws(ServiceError) -> State {
    try signIn(of: ticket, now: now).state
  }

  /// Ends an accepted sign-in, whose token is then made.
  /// - Throws: `NOT_FOUND` if the ticket is unknown, used or too old, or nobody has accepted.
  package mutating func collect(
    _ ticket: String, now: Timestamp
  ) throws(ServiceError) -> (request: Request, account: AccountID, device: DeviceID) {
    let signIn = try signIn(of: ticket, now: now)
    guard case .accepted(let account, let device) = signIn.state else { throw .wrongCode }
    signIns[String(signIn.code.prefix(Self.prefixLength))] = nil
    tickets[ticket] = nil
    return (signIn.request, account, device)
  }

  private func signIn(of ticket: String, now: Timestamp) throws(ServiceError) -> SignIn {
    // The code that the ticket came with may be gone, and its first characters be another's.
    guard let prefix = tickets[ticket], let signIn = signIns[prefix], signIn.ticket == ticket, signIn.lives(at: now)
    else { throw .wrongCode }
    return signIn
  }

  private mutating func waiting(
    _ code: String, now: Timestamp, isEqual: (String, String) -> Bool
  ) throws(ServiceError) -> SignIn {
    let prefix = String(code.prefix(Self.prefixLength))
    guard var signIn = signIns[prefix], signIn.lives(at: now) else { throw .wrongCode }
    guard isEqual(signIn.code, code) else {
      signIn.wrongGuesses += 1
      signIns[prefix] = signIn.wrongGuesses < Limits.wrongGuessesPerCodeMax ? signIn : nil
      throw .wrongCode
    }
    guard signIn.state == .waiting else { throw .wrongCode }
    return signIn
  }

  private mutating func forgetOld(now: Timestamp) {
    signIns = signIns.filter { $0.value.lives(at: now) }
    tickets = tickets.filter { signIns[$0.value]?.ticket == $0.key }
  }
}
