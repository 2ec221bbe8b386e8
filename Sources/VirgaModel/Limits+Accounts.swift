// Limits of accounts, devices and codes; all are choices of this service.
extension Limits {
  /// How long a challenge may be answered.
  public static let challengeAge: Duration = .seconds(120)
  /// How long a pairing code is good for.
  public static let pairingCodeAge: Duration = .seconds(600)
  /// How long an enrolment code made by a device is good for.
  public static let enrolmentCodeAge: Duration = .seconds(7 * 86_400)
  /// Wrong guesses after which a pairing code is void.
  public static let wrongGuessesPerCodeMax = 3
  /// Wrong codes and signatures that one address may send in `guessWindow`.
  public static let wrongGuessesPerAddressMax = 10
  public static let guessWindow: Duration = .seconds(600)
  /// Addresses whose wrong guesses are remembered; beyond that the longest remembered is forgotten.
  public static let guessingAddressesMax = 10_000
  /// Pairing codes that live at a time on one server.
  public static let pairingCodesMax = 1_000
  /// Devices of one account.
  public static let devicesPerAccountMax = 100
  /// Valid web-auth tokens of one account.
  public static let webTokensPerAccountMax = 1_000
  /// Characters of a device's name.
  public static let deviceNameLengthMax = 64
  /// Bytes of a request's body under `/virga/1/`.
  public static let accountRequestBytesMax = 64 << 10
  /// How long a request that waits for a pairing's other side is parked.
  public static let pairingPollAge: Duration = .seconds(25)
}
