import Foundation
import Synchronization

/// When and where on the clock an entry was written. The day of an entry is that of its own zone, not of the reader's.
package struct Written: Hashable, Sendable, Codable {
  package var moment: Moment
  /// A name of the time zone database; `GMT` where it is not known.
  package var zone: String

  package init(moment: Moment, zone: String) {
    self.moment = moment
    self.zone = zone
  }

  /// The clock of the entry's zone; of GMT if this machine does not know the zone.
  package var local: LocalTime {
    let seconds = moment.milliseconds.floored(by: 1000)
    return LocalTime(secondsSince1970: seconds + Int64(Zone.offsetSeconds(zone, at: seconds)))
  }
}

/// Time zones by name.
package enum Zone {
  package static func exists(_ name: String) -> Bool { known(name) != nil }

  package static func offsetSeconds(_ name: String, at secondsSince1970: Int64) -> Int {
    let date = Date(timeIntervalSince1970: Double(secondsSince1970))
    return known(name)?.secondsFromGMT(for: date) ?? 0
  }

  /// Finding a zone by its name reads a file, and a diary has few zones and many entries.
  private static let found = Mutex<[String: TimeZone?]>([:])
  private static let foundMax = 1_000

  private static func known(_ name: String) -> TimeZone? {
    found.withLock { found in
      if let zone = found[name] { return zone }
      let zone = TimeZone(identifier: name)
      if found.count < foundMax { found[name] = .some(zone) }
      return zone
    }
  }

  /// The moment at which clocks of a zone show a time; the first of two in autumn. A time that clocks pass over in spring
  /// counts as if they had not been moved yet: half past two is then half past three.
  package static func moment(of local: LocalTime, in name: String) -> Moment {
    let asIfGMT = local.secondsSince1970
    let before = asIfGMT - Int64(offsetSeconds(name, at: asIfGMT - 86400))
    let after = asIfGMT - Int64(offsetSeconds(name, at: asIfGMT + 86400))
    let isBefore = before + Int64(offsetSeconds(name, at: before)) == asIfGMT
    let isAfter = after + Int64(offsetSeconds(name, at: after)) == asIfGMT
    return Moment(seconds: isAfter && !isBefore ? after : before)
  }

  package static var current: String { TimeZone.current.identifier }
}
