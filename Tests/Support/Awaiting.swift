import Foundation

/// Waiting for other processes. They send this one no event, so their output, ports and end are looked at until the time is over.
package enum Awaiting {
  /// - Returns: Whether the condition came true in time.
  package static func until(within seconds: Int = 30, _ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    repeat {
      if try condition() { return true }
      // The other process works meanwhile.
      usleep(20_000)
    } while ContinuousClock.now < deadline
    return false
  }
}
