/// Names what a loop watches. The generation tells it from what took its place in the table later.
struct SourceKey: Hashable, Sendable {
  var slot: UInt32
  var generation: UInt32

  var bits: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(bits: UInt64) { self.init(slot: UInt32(truncatingIfNeeded: bits), generation: UInt32(bits >> 32)) }
}

/// Something with a file descriptor that a loop watches. All its methods are called on the loop's thread.
protocol EventSource: AnyObject {
  /// Takes what epoll reported; no flags at all when the source asked to be called again.
  func handle(_ events: UInt32)
  /// An instant that the source asked for has come.
  func deadlineCame(_ instant: Instant)
  /// The turn's events and jobs are through; called when the source asked for it.
  func turnEnded()
  /// The loop stops: no new work, what waits answers at once.
  func drain()
  /// Lets go of the descriptor at once.
  func close()
}
