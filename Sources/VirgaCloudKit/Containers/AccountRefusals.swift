import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel

/// That a server gives a device no account: it removed the device, or makes no accounts.
struct AccountRefusal: Codable, Hashable, Sendable {
  var reason: String
  /// The device as which the home was known then; joining an account makes it another one, or the first.
  var device: DeviceID?
  /// Whether the server has never heard of the device, as one does whose data are older than the account. The account is
  /// then not over: other data may be put back, and what is to be sent there waits.
  var isUnknown: Bool?
}

/// Which servers have refused, kept in the home: a program that starts anew then knows it without asking.
struct AccountRefusals: Sendable {
  private let file: SecureFile

  init(home: VirgaHome) { file = SecureFile(path: home.path + "/refused.json", content: .settings) }

  /// The refusal of one server; nil if there is none, or if nobody can tell.
  func refusal(endpoint: String) -> AccountRefusal? { refusals[endpoint] }

  /// Keeps a refusal, or forgets it. Where that cannot be written, the next program asks the server once more.
  func set(_ refusal: AccountRefusal?, endpoint: String) {
    var refusals = refusals
    refusals[endpoint] = refusal
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let bytes = try? encoder.encode(refusals) else { return }
    try? file.write(Array(bytes))
  }

  private var refusals: [String: AccountRefusal] {
    guard let bytes = try? file.read() else { return [:] }
    return (try? JSONDecoder().decode([String: AccountRefusal].self, from: Data(bytes))) ?? [:]
  }
}
