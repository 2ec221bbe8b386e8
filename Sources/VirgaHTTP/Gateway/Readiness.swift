import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

/// When a save was last tried for whoever asks whether the server is ready.
final class Readiness: Sendable {
  /// However many ask, one save in this time answers them.
  static let age: Duration = .seconds(1)

  let gate = SharedGate()
  private let saved = Mutex<Timestamp?>(nil)

  func isFresh(_ now: Timestamp) -> Bool {
    saved.withLock { saved in saved.map { $0 <= now && now < $0 + Self.age } ?? false }
  }

  func note(_ now: Timestamp) { saved.withLock { $0 = now } }
}
