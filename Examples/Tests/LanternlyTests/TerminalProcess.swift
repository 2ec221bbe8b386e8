import Foundation
import Glibc

/// A program with a terminal of its own, at which the test sits.
final class TerminalProcess {
  struct Failure: Error { var call: String }

  private var terminal: Int32
  private let process: pid_t
  private var shown: [UInt8] = []
  private var hasEnded = false

  // As in the headers of Linux and glibc; Swift's module of it leaves these out.
  private static let setLock: UInt = 0x4004_5431
  private static let getNumber: UInt = 0x8004_5430
  private static let setSession: Int16 = 0x80

  init(_ program: String, _ arguments: [String], environment: [String: String]) throws {
    terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var (isLocked, number): (Int32, Int32) = (0, 0)
    guard terminal >= 0, ioctl(terminal, Self.setLock, &isLocked) == 0, ioctl(terminal, Self.getNumber, &number) == 0
    else { throw Failure(call: "/dev/ptmx") }
    let name = "/dev/pts/\(number)"
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(&attributes, Self.setSession)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The first terminal that a session's leader opens is the session's.
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, name, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO)
    posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDERR_FILENO)
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    var pairs = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for word in words + pairs { free(word) } }
    var process = pid_t()
    guard posix_spawn(&process, program, &actions, &attributes, &words, &pairs) == 0 else {
      throw Failure(call: "posix_spawn")
    }
    self.process = process
  }

  /// A process that nobody waits for stays in the table, and what looks for any child that ended finds it again and again.
  deinit {
    if !hasEnded {
      kill(process, SIGKILL)
      _ = reaped()
    }
    if terminal >= 0 { close(terminal) }
  }

  /// Takes the terminal away, as who closes its window.
  func hangUp() {
    close(terminal)
    terminal = -1
  }

  func type(_ text: String) { _ = Array(text.utf8).withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) } }

  var screen: String { String(decoding: shown, as: UTF8.self) }

  /// Whether the text shows before half a minute is over.
  func shows(_ text: String) -> Bool {
    let deadline = ContinuousClock.now + .seconds(30)
    while !screen.contains(text) {
      guard ContinuousClock.now < deadline, read() else { return screen.contains(text) }
    }
    return true
  }

  /// False once nobody has the terminal open any more.
  private func read() -> Bool {
    var waited = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
    guard poll(&waited, 1, 1000) > 0 else { return true }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = Glibc.read(terminal, &bytes, bytes.count)
    if count > 0 { shown += bytes[..<count] }
    return count > 0
  }

  /// The code with which it ended, or -1 if it does not end by itself within half a minute.
  func waited() -> Int32 {
    let deadline = ContinuousClock.now + .seconds(30)
    if terminal >= 0 { while ContinuousClock.now < deadline && read() {} } else { awaitEnd(until: deadline) }
    // What has closed its terminal has ended, or is about to.
    if ContinuousClock.now >= deadline { kill(process, SIGKILL) }
    let status = reaped()
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
  }

  private func awaitEnd(until deadline: ContinuousClock.Instant) {
    var state = siginfo_t()
    // It stays in the table of processes, for `reaped`.
    while waitid(P_PID, id_t(process), &state, WEXITED | WNOHANG | WNOWAIT) == 0, state.si_signo == 0,
      ContinuousClock.now < deadline
    {
      // `waitid` has no form that waits until a deadline.
      usleep(10_000)
    }
  }

  private func reaped() -> Int32 {
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    hasEnded = true
    return status
  }
}
