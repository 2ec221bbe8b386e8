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
