/// Texts of errors under `/virga/1/`, by which our client tells them apart.
package enum AccountReason {
  package static let noCredentials = "no auth method found"
  package static let sessionEnded = "session is not valid or has ended"
  package static let deviceUnknown = "device is not enrolled on this server"
  package static let devicesElsewhere =
    "the account is not on this server, and all of its devices have been in other accounts here"
  package static let deviceRemoved = "device was removed from its account"
  package static let deviceHasAccount = "device belongs to another account"
  package static let deviceNotFound = "account has no such device"
  package static let lastDevice = "the last device of an account cannot be removed"
  package static let enrolmentClosed = "this server takes no new accounts"
  package static let enrolmentNeedsCode = "this server makes a new account only with an enrolment code"
  package static let wrongCode = "code is wrong, used or too old"
  package static let wrongSignature = "the signature does not match the key and the challenge"
  package static let wrongChallenge = "challenge is unknown, used or too old"
  package static let tooManyGuesses = "too many wrong codes or signatures from this address"
  package static let codeRefused = "the other device refused"
}
