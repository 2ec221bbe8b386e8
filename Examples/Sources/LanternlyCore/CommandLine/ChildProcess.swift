import Foundation
import Glibc

/// A program in the terminal that this one has.
///
/// Foundation's `Process` would not do: it runs a program in a process group of its own, in the background, which gets
/// errors for what it reads from the terminal.
final class ChildProcess {
  private let process: pid_t
  // What is typed there to stop something is meant for the other program, from its first moment on.
  private let handlers: [(Int32, __sighandler_t?)]

  /// Starts a command of the shell.
  /// - Parameter operand: Put behind the command, as one word.
  /// - Parameter input: What becomes its standard input; `nil` for this program's own.
  /// - Returns: `nil` if no program could be started.
  init?(_ command: String, operand: String? = nil, input: Int32? = nil) {
    handlers = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    // By the shell, as the command may hold options; the operand is an argument and never part of the command. The shell makes
    // way for a plain command, as it would end when that is interrupted.
    let isPlain = command.allSatisfy { $0.isLetter || $0.isNumber || " /._-+".contains($0) }
    let script = (isPlain ? "exec " : "") + command + (operand == nil ? "" : " \"$1\"")
    // A signal that was ignored before stays so.
    let usual = handlers.filter { $0.1 == nil }.map(\.0)
    let words = ["/bin/sh", "-c", script, "sh"] + (operand.map { [$0] } ?? [])
    guard let process = Self.spawn(words, withUsual: usual, input: input) else {
      for (number, handler) in handlers { signal(number, handler) }
      return nil
    }
    self.process = process
  }

  /// Waits for the end.
  /// - Returns: The exit code, as shells count: beyond 128 if a signal ended it, 127 if it could not be run.
  func waited() -> Int32 {
    defer { for (number, handler) in handlers { signal(number, handler) } }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return 127 }
    }
    let ending = status & 0x7F
    return ending == 0 ? (status >> 8) & 0xFF : 128 + ending
  }

  /// - Parameter signals: Those that do to the program what they usually do.
  private static func spawn(_ arguments: [String], withUsual signals: [Int32], input: Int32?) -> pid_t? {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A thread of a pool blocks signals that stop a job of the terminal; the program is not to inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var usual = sigset_t()
    sigemptyset(&usual)
    for signal in signals + [SIGPIPE] { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let input { posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) }
    var words = arguments.map { strdup($0) }
    defer { for word in words { free(word) } }
    words.append(nil)
    var process = pid_t()
    return posix_spawn(&process, arguments[0], &actions, &attributes, words, environ) == 0 ? process : nil
  }
}

/// The user's editor.
enum Editor {
  /// Opens a file and waits for the editor's end.
  static func run(_ command: String, _ path: String) -> Int32 { ChildProcess(command, operand: path)?.waited() ?? 127 }
}

/// The program that shows long output a page at a time.
final class Pager {
  private let child: ChildProcess
  private let pipe: Int32
  private var isOpen = true

  /// `nil` if it could not be started.
  init?(_ command: String) {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { return nil }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    // A reader that has enough may leave early; that is no failure here.
    signal(SIGPIPE, SIG_IGN)
    // As other programs do: what fits on the screen is just printed, and colours are shown.
    setenv("LESS", "FRX", 0)
    let child = ChildProcess(command, input: ends[0])
    close(ends[0])
    pipe = ends[1]
    guard let child else {
      close(ends[1])
      return nil
    }
    self.child = child
  }

  /// - Returns: False once nobody reads any longer.
  func write(_ text: String) -> Bool {
    if isOpen { isOpen = Output.write(text, to: pipe) == .written }
    return isOpen
  }

  func finish() {
    close(pipe)
    _ = child.waited()
  }
}
