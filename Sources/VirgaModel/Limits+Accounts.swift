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
  /// The time in which guesses are counted.
  public static let guessWindow: Duration = .seconds(600)
  /// Addresses whose wrong guesses are remembered; beyond that the longest remembered is forgotten.
  public static let guessingAddressesMax = 10_000
  /// Pairing codes that live at a time on one server.
  public static let pairingCodesMax = 1_000
  /// Enrolment codes of one account that live at a time.
  public static let enrolmentCodesPerAccountMax = 100
  /// Accounts that one address may make on a server that is open to everybody: so many at once, and another one after
  /// so many seconds.
  public static let accountsPerAddressMax = 500
  /// Seconds after which one address may make another account.
  public static let secondsPerAccountOfAddress = 10
  /// Devices of one account, and those that it ever had: a removed one is remembered, so that it never comes back.
  public static let devicesPerAccountMax = 100
  /// Removed devices that are remembered for an account.
  public static let pastDevicesPerAccountMax = 1_000
  /// Valid web-auth tokens of one account.
  public static let webTokensPerAccountMax = 1_000
  /// Characters of a device's name.
  public static let deviceNameLengthMax = 64
  /// Texts that the devices of one account, or those who read one zone, keep for each other, and their bytes. What
  /// participants keep has the same room again, of which each of them may take a part.
  public static let keyItemsMax = 10_000
  /// Bytes of an account's key list.
  public static let keyListBytesMax = 2 << 20
  /// Items of one participant in a zone's key list.
  public static let keyItemsPerParticipantMax = 100
  /// Bytes of one participant in a zone's key list.
  public static let keyBytesPerParticipantMax = 64 << 10
  /// Characters of an item's name in a key list.
  public static let keyItemNameLengthMax = 1_024
  /// Bytes of an item in a key list.
  public static let keyItemBytesMax = 48 << 10
  /// Bytes of a request's body under `/virga/1/`.
  public static let accountRequestBytesMax = 64 << 10
  /// How long a request that waits for a pairing's other side is parked.
  public static let pairingPollAge: Duration = .seconds(25)
  /// Containers in which one account has data, or was the first on a server.
  public static let containersPerAccountMax = 200
  /// API tokens that the operator of one server makes.
  public static let apiTokensMax = 1_000
  /// Server-to-server keys of one server.
  public static let serverKeysMax = 1_000
  /// Origins of one API token.
  public static let originsPerTokenMax = 100
  /// Bytes of the address at which the sign-in page hands a token over.
  public static let callbackLengthMax = 2_048
  /// The greatest rate or burst of requests that can be set.
  public static let rateMax = 100_000
  /// Users or addresses whose requests are counted at a time.
  public static let rateKeysMax = 100_000
  /// Sign-ins that one address may have under way.
  public static let signInsPerAddressMax = 20
  /// How long a sign-in on a web page lasts (Web Services Reference: 30 minutes).
  public static let signInAge: Duration = .seconds(1_800)
  /// How far the date of a signed request may lie from now, in either direction.
  public static let signedRequestWindow: Duration = .seconds(600)
}
