import Foundation
import VirgaAuth

/// Which servers have refused this device an account, kept in its home: a program that starts anew then knows it without
/// asking.
struct AccountRefusals: Sendable {
  private let file: SecureFile

  init(home: VirgaHome) { file = SecureFile(path: home.path + "/refused.json", content: .settings) }

  /// Why the server refused; nil if it did not, or if nobody can tell.
  func reason(endpoint: String) -> String? { reasons[endpoint] }

  /// Keeps the reason, or forgets it. Where that cannot be written, the next program asks the server once more.
  func set(_ reason: String?, endpoint: String) {
    var reasons = reasons
    reasons[endpoint] = reason
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    guard let bytes = try? encoder.encode(reasons) else { return }
    try? file.write(Array(bytes))
  }

  private var reasons: [String: String] {
    guard let bytes = try? file.read() else { return [:] }
    return (try? JSONDecoder().decode([String: String].self, from: Data(bytes))) ?? [:]
  }
}
