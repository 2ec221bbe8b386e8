import Dispatch
import Glibc
import Synchronization

/// Waits for the signals that ask the server to stop: the first lets it finish what is under way, the second ends it.
final class StopSignals: Sendable {
  private struct State {
    var first: String?
    var arrival = ContinuousClock.now
    var waiter: CheckedContinuation<String, Never>?
  }

  /// A program that ends others by a time, such as `timeout`, signals the process and then its group at once: two signals
  /// so close together are one wish.
  private static let oneWish: Duration = .milliseconds(500)

  private let state = Mutex(State())
  // Unsafe by its type only: set here once, and kept so that the sources live.
  nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

  init() {
    // The end of a terminal asks for the same. Whoever started the program by nohup ignores it, and goes on doing so.
    let names = [(SIGINT, "SIGINT"), (SIGTERM, "SIGTERM")] + (Self.ignores(SIGHUP) ? [] : [(SIGHUP, "SIGHUP")])
    sources = names.map { number, _ in
      // The source sees the signal also when it is ignored, and only then does it not end the process.
      signal(number, SIG_IGN)
      return DispatchSource.makeSignalSource(signal: number, queue: .global(qos: .userInitiated))
    }
    for (source, (_, name)) in zip(sources, names) {
      source.setEventHandler { [self] in arrived(name) }
      source.activate()
    }
    // A client that goes away while it is answered is seen as an error of the write.
    signal(SIGPIPE, SIG_IGN)
  }

  private static func ignores(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    // The system's two words for "nothing" and "the usual" are numbers in the place of a function.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// The name of the first signal, once it came.
  func first() async -> String {
    await withCheckedContinuation { continuation in
      let first = state.withLock { state in
        if state.first == nil { state.waiter = continuation }
        return state.first
      }
      if let first { continuation.resume(returning: first) }
    }
  }

  private func arrived(_ name: String) {
    let (isSecond, waiter) = state.withLock { state -> (Bool, CheckedContinuation<String, Never>?) in
      guard state.first == nil else { return (ContinuousClock.now - state.arrival > Self.oneWish, nil) }
      state.first = name
      state.arrival = .now
      defer { state.waiter = nil }
      return (false, state.waiter)
    }
    // Whoever asks twice does not want to wait.
    if isSecond { _exit(130) }
    waiter?.resume(returning: name)
  }
}
