import Foundation
import Glibc

/// The user's editor, in the terminal that this program has.
enum Editor {
  /// Opens a file and waits for the editor's end.
  ///
  /// Foundation's `Process` would not do: it runs a program in a process group of its own, in the background, which gets
  /// errors for what it reads from the terminal.
  /// - Returns: The editor's exit code, as shells count: beyond 128 if a signal ended it, 127 if it could not be run.
  static func run(_ command: String, _ path: String) -> Int32 {
    // By the shell, as $EDITOR may hold options; the path is an argument and never part of the command. The shell makes
    // way for a plain command, as it would end when the editor is interrupted.
    let isPlain = command.allSatisfy { $0.isLetter || $0.isNumber || " /._-+".contains($0) }
    let words = ["/bin/sh", "-c", (isPlain ? "exec " : "") + command + " \"$1\"", "sh", path]
    // What is typed there to stop something is meant for the editor, from its first moment on.
    let handlers = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in handlers { signal(number, handler) } }
    // A signal that was ignored before stays so.
    let usual = handlers.filter { $0.1 == nil }.map(\.0)
    guard let process = spawn(words, withUsual: usual) else { return 127 }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { return 127 }
    }
    let ending = status & 0x7F
    return ending == 0 ? (status >> 8) & 0xFF : 128 + ending
  }

  /// - Parameter signals: Those that do to the program what they usually do.
  private static func spawn(_ arguments: [String], withUsual signals: [Int32]) -> pid_t? {
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // A thread of a pool blocks signals that stop a job of the terminal; the editor is not to inherit that.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    var usual = sigset_t()
    sigemptyset(&usual)
    for signal in signals { sigaddset(&usual, signal) }
    posix_spawnattr_setsigdefault(&attributes, &usual)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    var words = arguments.map { strdup($0) }
    defer { for word in words { free(word) } }
    words.append(nil)
    var process = pid_t()
    return posix_spawn(&process, arguments[0], nil, &attributes, words, environ) == 0 ? process : nil
  }
}
