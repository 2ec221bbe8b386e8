import Foundation
import Glibc
import Synchronization

/// One run of the built program `virga`, with its input and what it printed so far.
///
/// Nothing of the environment reaches it but the search path, so that no test sees the home of whoever runs it.
final class ProgramRun: Sendable {
  struct End: Sendable {
    /// The exit code; 128 and the signal's number if a signal ended it.
    var code: Int32
    var output: String
    var errors: String
  }

  struct Unexpected: Error, CustomStringConvertible {
    var description: String
  }

  /// The programs lie beside the tests.
  private static let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()
  static var path: String { folder.appendingPathComponent("virga").path }
  /// Where servers note how the operator's commands find them.
  static var state: String { stateFolder.path }
  private static let stateFolder = FolderUntilExit()

  let process: pid_t
  private let input: Mutex<Int32>
  private let output: Collected
  private let errors: Collected
  private let code = Collected.Value<Int32>()

  /// - Parameter program: Another one than `virga`: its name beside the tests, or its whole path.
  init(_ arguments: [String], program: String = "virga", environment: [String: String] = [:]) throws {
    var variables = [
      "PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8", "XDG_STATE_HOME": Self.state,
    ]
    for name in ["LD_LIBRARY_PATH", "LLVM_PROFILE_FILE", "TSAN_OPTIONS", "ASAN_OPTIONS"] {
      variables[name] = ProcessInfo.processInfo.environment[name]
    }
    variables.merge(environment) { _, new in new }
    let path = program.hasPrefix("/") ? program : Self.folder.appendingPathComponent(program).path
    let (process, pipes) = try Self.start(path, arguments, variables)
    self.process = process
    input = Mutex(pipes.input)
    output = Collected(pipes.output)
    errors = Collected(pipes.errors)
    let code = code
    Thread.detachNewThread {
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0 && errno == EINTR {}
      code.set(status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f))
    }
  }

  deinit {
    if code.isMissing { Glibc.kill(process, SIGKILL) }
    closeInput()
  }

  // Pipes are made and closed on exec in two steps: no other process may be started between them, or it would inherit
  // the ends and keep them open.
  private static let starting = Mutex(())

  private static func start(
    _ path: String, _ arguments: [String], _ variables: [String: String]
  ) throws -> (pid_t, (input: Int32, output: Int32, errors: Int32)) {
    var words = ([path] + arguments).map { strdup($0) } + [nil]
    var pairs = variables.sorted { $0.key < $1.key }.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in words + pairs { free(text) } }
    return try starting.withLock { _ in
      let (inputs, outputs, complaints) = (try pipe(), try pipe(), try pipe())
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, inputs.reading, STDIN_FILENO)
      posix_spawn_file_actions_adddup2(&actions, outputs.writing, STDOUT_FILENO)
      posix_spawn_file_actions_adddup2(&actions, complaints.writing, STDERR_FILENO)
      var process: pid_t = 0
      let result = posix_spawn(&process, path, &actions, nil, &words, &pairs)
      for descriptor in [inputs.reading, outputs.writing, complaints.writing] { close(descriptor) }
      guard result == 0 else {
        throw Unexpected(description: "cannot start \(path): \(String(cString: strerror(result)))")
      }
      return (process, (inputs.writing, outputs.reading, complaints.reading))
    }
  }

  private static func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw Unexpected(description: "no more pipes") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Types a line.
  func type(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    input.withLock { _ = write($0, bytes, bytes.count) }
  }

  func closeInput() {
    input.withLock { input in
      if input >= 0 { close(input) }
      input = -1
    }
  }

  func signal(_ number: Int32) { Glibc.kill(process, number) }

  /// What it has complained of until now.
  var errorsSoFar: String { errors.text }

  /// Waits until standard output matches, and gives the match.
  /// - Throws: If it ends before.
  @discardableResult
  func printed<Match: Sendable>(_ match: @escaping @Sendable (String) -> Match?) async throws -> Match {
    if let found = await killingAtCancellation({ await output.first(match) }) { return found }
    let end = await end()
    throw Unexpected(description: "ended with \(end.code) before it printed that: \(end.output)\(end.errors)")
  }

  /// Waits until it has ended.
  func end() async -> End {
    let code: Int32 = await killingAtCancellation { await self.code.get() }
    return End(code: code, output: await output.all(), errors: await errors.all())
  }

  /// A test whose time is over takes its program along.
  private func killingAtCancellation<Value>(_ body: () async -> Value) async -> Value {
    await withTaskCancellationHandler(operation: body) { Glibc.kill(process, SIGKILL) }
  }

  /// Runs the program to its end, without input.
  static func run(
    _ arguments: [String], program: String = "virga", environment: [String: String] = [:]
  ) async throws -> End {
    let run = try ProgramRun(arguments, program: program, environment: environment)
    run.closeInput()
    return await run.end()
  }
}

/// A folder that the tests of this process share.
private struct FolderUntilExit {
  let path = FileManager.default.temporaryDirectory.path + "/virga-test-state-\(getpid())"

  init() {
    atexit {
      try? FileManager.default.removeItem(
        atPath: FileManager.default.temporaryDirectory.path + "/virga-test-state-\(getpid())")
    }
  }
}

/// What comes out of a pipe, read by a thread of its own.
private final class Collected: Sendable {
  /// A value that is set once.
  final class Value<Content: Sendable>: Sendable {
    private struct State {
      var content: Content?
      var waiters: [CheckedContinuation<Content, Never>] = []
    }
    private let state = Mutex(State())

    var isMissing: Bool { state.withLock { $0.content == nil } }

    func set(_ content: Content) {
      let waiters = state.withLock { state in
        state.content = content
        defer { state.waiters = [] }
        return state.waiters
      }
      for waiter in waiters { waiter.resume(returning: content) }
    }

    func get() async -> Content {
      await withCheckedContinuation { continuation in
        let content = state.withLock { state in
          if state.content == nil { state.waiters.append(continuation) }
          return state.content
        }
        if let content { continuation.resume(returning: content) }
      }
    }
  }

  private struct State {
    var bytes: [UInt8] = []
    var isOver = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  init(_ descriptor: Int32) {
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0 && errno == EINTR { continue }
        let waiters = state.withLock { state in
          if count > 0 { state.bytes += buffer.prefix(count) } else { state.isOver = true }
          defer { state.waiters = [] }
          return state.waiters
        }
        for waiter in waiters { waiter.resume() }
        if count <= 0 { break }
      }
      close(descriptor)
    }
  }

  /// The first match; `nil` if the pipe ends without one.
  func first<Match>(_ match: (String) -> Match?) async -> Match? {
    while true {
      let (text, count, isOver) = state.withLock {
        (String(decoding: $0.bytes, as: UTF8.self), $0.bytes.count, $0.isOver)
      }
      if let found = match(text) { return found }
      if isOver { return nil }
      await withCheckedContinuation { continuation in
        let hasChanged = state.withLock { state in
          if state.bytes.count != count || state.isOver { return true }
          state.waiters.append(continuation)
          return false
        }
        if hasChanged { continuation.resume() }
      }
    }
  }

  var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

  func all() async -> String {
    let nothing: Void? = await first { _ in nil }
    precondition(nothing == nil)
    return state.withLock { String(decoding: $0.bytes, as: UTF8.self) }
  }
}
