import Synchronization
import VirgaAuth
import VirgaModel

/// Random texts that a device signs to show that it holds its key, now.
///
/// A challenge is signed rather than kept, so that asking for many costs no memory; one that was answered is kept until
/// it is too old, so that it cannot be answered again. The key lives as long as the process: none outlives a restart.
final class Challenges: Sendable {
  private let key = ServerSecrets.random()
  private let used = Mutex<[String: Timestamp]>([:])

  func make(now: Timestamp) -> (challenge: String, expires: Timestamp) {
    let expires = now + Limits.challengeAge
    let text = "\(CanonicalBase64.encodeForURL(SystemRandom.bytes(16))).\(expires.milliseconds)"
    return ("\(text).\(key.signature(of: text, for: .session))", expires)
  }

  /// Whether the challenge was made here and is not too old. It stays good until `use`.
  func isFresh(_ challenge: String, now: Timestamp) -> Bool {
    let parts = challenge.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let expires = Int64(parts[1]), now.milliseconds < expires,
      key.verifies(parts[2], of: "\(parts[0]).\(parts[1])", for: .session)
    else { return false }
    return used.withLock { $0[challenge] == nil }
  }

  /// Takes the challenge as answered by a valid signature.
  /// - Returns: Whether this was the first time.
  func use(_ challenge: String, now: Timestamp) -> Bool {
    used.withLock { used in
      if used.count.isMultiple(of: 1_024) { used = used.filter { now < $0.value } }
      return used.updateValue(now + Limits.challengeAge, forKey: challenge) == nil
    }
  }
}
