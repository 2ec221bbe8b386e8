import FoundationEssentials
package import VirgaAuth
package import VirgaModel
import VirgaWire

/// Why there is no account or session, or why a step with them failed.
package enum AccountError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The home's files cannot be used.
  case home(SecureFileError)
  /// The device was removed from its account.
  case deviceRemoved
  /// The server does not know the device, although it enrolled there: the server's data are older than that.
  case deviceUnknown
  /// The server makes no account for this device; the text says why.
  case enrolmentRefused(String)
  /// The device has another account than when this began.
  case accountChanged
  /// The code is wrong, used or too old.
  case wrongCode
  /// The other device said no.
  case joiningRefused
  /// Nobody let the device in before the code's time was over.
  case joiningNotConfirmed
  /// The device has an account on this server already.
  case hasAccount(AccountID)
  /// What answers at an address that somebody sent says that it is a server that the device knows elsewhere.
  case serverElsewhere(known: String, asked: String)
  /// No other device of the account has its key, so a new one would be sealed to nobody.
  case keyWouldBeLost
  /// A device cannot be removed with a new key for the others, since this device does not have the present one.
  case keyMissing
  /// The server wants a pause.
  case throttled(retryAfterSeconds: Int)
  /// Any other refusal, of the request that the server's log has under that name.
  case refused(status: Int, code: String, reason: String, request: String? = nil)
  /// What answers is not such a server.
  case badAnswer(String)

  package var description: String {
    switch self {
    case .home(let error): error.description
    case .deviceRemoved: "this device was removed from its account"
    case .deviceUnknown: "the server no longer knows this device"
    case .enrolmentRefused(let reason): reason
    case .accountChanged: "the account of this device has changed"
    case .wrongCode: "the code is wrong, used or too old; ask for a new one"
    case .joiningRefused: "the other device refused"
    case .joiningNotConfirmed:
      "nobody confirmed this device before the code expired; get a new code with virga account invite"
    case .hasAccount(let account): "this device already belongs to account \(account)"
    case .serverElsewhere(let known, let asked):
      "the server at \(asked) claims to be your server at \(known); nothing about you was sent there"
    case .keyWouldBeLost:
      "no other device has the account's key for encrypted values, so the key would be lost; nothing was changed"
    case .keyMissing:
      "this device does not have the newest key for encrypted values of the account, so it cannot replace the key"
    case .throttled(let seconds): "too many requests; try again in \(seconds) seconds"
    case .refused(let status, let code, let reason, _): "the server refused: \(reason) (\(status) \(code))"
    case .badAnswer(let what): "the answer does not come from a Virga server: \(what)"
    }
  }
}

extension AccountError {
  /// What an answer says that failed.
  init(status: Int, body: [UInt8]) {
    guard let failure = try? JSONDecoder().decode(AccountMessages.Failure.self, from: Data(body)) else {
      self = .badAnswer("status \(status) without a readable error")
      return
    }
    self =
      switch failure.reason {
      case AccountReason.deviceRemoved: .deviceRemoved
      case AccountReason.deviceUnknown: .deviceUnknown
      case AccountReason.wrongCode: .wrongCode
      case AccountReason.enrolmentClosed, AccountReason.enrolmentNeedsCode: .enrolmentRefused(failure.reason)
      default:
        .refused(status: status, code: failure.serverErrorCode, reason: failure.reason, request: failure.uuid)
      }
    if case .refused(_, let code, _, _) = self, let seconds = failure.retryAfter,
      status == 429 || code == ServerErrorCode.throttled.rawValue
    {
      self = .throttled(retryAfterSeconds: seconds)
    }
  }
}
