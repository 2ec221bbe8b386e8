import Glibc
import Synchronization

/// Shows on standard error how far some work is, while that is a terminal; else it shows nothing.
///
/// The line is written over itself, at most ten times a second, and is wiped by `finish`. It comes only when the work has
/// taken half a second, so that nothing flickers where it is quick. May be used from any thread.
public final class ProgressMeter: Sendable {
  private struct State {
    var line: ProgressLine
    var start: ContinuousClock.Instant
    var drawn: ContinuousClock.Instant?
    var isOver = false
  }

  private static let delay: Duration = .milliseconds(500)
  private static let interval: Duration = .milliseconds(100)

  private let state: Mutex<State>
  private let descriptor: Int32
  private let isShown: Bool
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameters:
  ///   - descriptor: Where it is shown, if not on standard error.
  ///   - isWanted: `false` shows nothing, as with `--json`.
  public convenience init(
    _ label: String, unit: ProgressLine.Unit, total: Int64? = nil, descriptor: Int32? = nil,
    isWanted: Bool = true
  ) {
    self.init(label, unit: unit, total: total, descriptor: descriptor, isWanted: isWanted, now: { .now })
  }

  /// - Parameter now: What time it is; may be asked on any thread.
  package init(
    _ label: String, unit: ProgressLine.Unit, total: Int64? = nil, descriptor: Int32? = nil, isWanted: Bool = true,
    now: @escaping @Sendable () -> ContinuousClock.Instant
  ) {
    let descriptor = descriptor ?? STDERR_FILENO
    self.now = now
    state = Mutex(State(line: ProgressLine(label: label, unit: unit, total: total), start: now()))
    self.descriptor = descriptor
    isShown = isWanted && isatty(descriptor) != 0 && getenv("TERM").map { String(cString: $0) } != "dumb"
  }

  deinit { finish() }

  /// Says how much is done of how much; `nil` keeps the total that was known.
  public func update(done: Int64, total: Int64? = nil) {
    change { line in
      line.done = done
      line.total = total ?? line.total
    }
  }

  /// Says that more is done.
  public func advance(by count: Int64 = 1) {
    change { $0.done += count }
  }

  /// Goes on with another part of the work, counted from nothing.
  public func begin(_ label: String, unit: ProgressLine.Unit, total: Int64? = nil) {
    guard isShown else { return }
    state.withLock { state in
      state.line = ProgressLine(label: label, unit: unit, total: total)
      state.start = now()
    }
    change { _ in }
  }

  /// Wipes the line, so that something else can be written; the next update draws it again.
  public func wipe() {
    guard isShown else { return }
    state.withLock { wipe(&$0) }
  }

  /// Wipes the line for good.
  public func finish() {
    guard isShown else { return }
    state.withLock { state in
      wipe(&state)
      state.isOver = true
    }
  }

  private func wipe(_ state: inout State) {
    guard state.drawn != nil else { return }
    write("\r\u{1B}[K")
    state.drawn = nil
  }

  private func change(_ body: (inout ProgressLine) -> Void) {
    guard isShown else { return }
    state.withLock { state in
      body(&state.line)
      let now = now()
      let isDue = state.drawn.map { now - $0 >= Self.interval } ?? (now - state.start >= Self.delay)
      guard !state.isOver, isDue else { return }
      state.drawn = now
      write("\r" + state.line.text(elapsed: now - state.start, width: width - 1) + "\u{1B}[K")
    }
  }

  /// Asked each time, since a window can be made narrower.
  private var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// A line that could not be written is no failure of the work.
  private func write(_ text: String) {
    let bytes = Array(text.utf8)
    _ = Glibc.write(descriptor, bytes, bytes.count)
  }
}
