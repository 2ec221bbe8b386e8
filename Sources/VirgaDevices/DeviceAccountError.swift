import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// Why something with the account of a device failed.
public struct DeviceAccountError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is. Apps act on this.
  public enum Code: Hashable, Sendable {
    /// The code is wrong, used or too old.
    case wrongCode
    /// The other device said no.
    case refused
    /// Nobody said yes in time.
    case notConfirmed
    /// This device has an account there already.
    case hasAccount
    /// The server gives this device no account, has removed it, or does not know it.
    case noAccount
    /// Nobody answers there.
    case unreachable
    /// There is no secure connection.
    case insecure
    /// The server asks to wait.
    case busy
    /// Settings or keys on this device cannot be used.
    case settings
    /// Anything else.
    case other
  }

  /// What kind of failure it is.
  public var code: Code
  /// For people, in English.
  public var message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }

  init(_ error: any Error) {
    switch error {
    case let error as DeviceAccountError: self = error
    case let error as AccountError: self.init(Self.code(error), error.description)
    case TransportError.insecure(let failure): self.init(.insecure, failure.text)
    case let error as TransportError: self.init(Self.code(error), Self.text(error))
    default: self.init(.other, "\(error)")
    }
  }

  private static func code(_ error: AccountError) -> Code {
    switch error {
    case .wrongCode: .wrongCode
    case .joiningRefused: .refused
    case .joiningNotConfirmed: .notConfirmed
    case .hasAccount: .hasAccount
    case .deviceRemoved, .deviceUnknown, .enrolmentRefused, .accountChanged: .noAccount
    case .throttled: .busy
    case .home: .settings
    default: .other
    }
  }

  private static func code(_ error: TransportError) -> Code {
    switch error {
    case .unreachable, .failed, .responseLost: .unreachable
    default: .other
    }
  }

  private static func text(_ error: TransportError) -> String {
    switch error {
    case .unreachable(let text), .failed(let text), .responseLost(let text), .file(let text), .diskFull(let text): text
    case .insecure(let failure): failure.text
    case .tooLarge: "the answer is too large"
    case .cancelled: "cancelled"
    }
  }
}
