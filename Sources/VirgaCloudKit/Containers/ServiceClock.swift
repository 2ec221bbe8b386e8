import Foundation
import Synchronization
package import VirgaModel

/// The service's clock as far as its answers told it: never behind the service's own, and ahead of it by a second and the
/// time that an answer took.
final class ServiceClock: Sendable {
  /// By how much this device's clock was ahead at least, when it was last measured.
  private let lead = Mutex<Duration?>(nil)

  /// Takes the time of an answer, which comes in whole seconds.
  func note(date: String?, ofRequestAt sent: Timestamp) {
    guard let date, let time = Timestamp(httpDate: date) else { return }
    lead.withLock { $0 = sent - (time + .seconds(1)) }
  }

  /// - Parameter now: By this device's clock.
  func time(at now: Timestamp) -> Timestamp? {
    lead.withLock { $0.map { now - $0 } }
  }
}

extension Timestamp {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Reads `Tue, 01 Dec 2026 14:54:26 GMT`, the one form that a server may send (RFC 9110, 5.6.7).
  init?(httpDate text: String) {
    let parts = text.split(whereSeparator: { " :".contains($0) })
    guard parts.count == 8, parts[7] == "GMT", let month = Self.months.firstIndex(of: String(parts[2])),
      let day = Int(parts[1]), let year = Int(parts[3]), let hour = Int(parts[4]), let minute = Int(parts[5]),
      let second = Int(parts[6]), (1...31).contains(day), (1970...9999).contains(year), (0..<24).contains(hour),
      (0..<60).contains(minute),
      (0...60).contains(second)
    else { return nil }
    // Days since 1970 of a calendar whose years begin in March.
    let shifted = month < 2 ? year - 1 : year
    let days =
      shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (153 * ((month + 10) % 12) + 2) / 5 + day - 719_469
    self.init(milliseconds: Int64(((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000)
  }
}

extension CKDatabase {
  /// The service's time, if it has been told.
  package var serviceTime: Timestamp? { service.serviceTime }
}

extension CKContainer {
  /// The service's time, if it has been told.
  package var serviceTime: Timestamp? { service.serviceTime }
}

extension CKError {
  /// The service's time when it refused something.
  package var serviceTime: Timestamp? {
    (userInfo[Self.serviceTimeKey] as? NSNumber).map { Timestamp(milliseconds: $0.int64Value) }
  }

  static let serviceTimeKey = "VirgaServiceTime"
}
