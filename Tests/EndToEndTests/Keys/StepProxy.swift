import Foundation
import Glibc
import Synchronization
import TestSupport

/// Stands between a program and a server, and stops the program at one of the steps that its account or its keys take.
///
/// A step is a request under `/virga/1/` that changes or asks something of an account; a session is none.
final class StepProxy: Sendable {
  enum Stop: String, CaseIterable, Sendable {
    /// The server does not hear of the step, and the program is refused.
    case refusal
    /// The server does what it is asked, and the program is killed before it hears of that.
    case kill
  }

  private struct State {
    var seen: [String] = []
    var victim: pid_t?
    var isOver = false
  }

  let port: UInt16
  private let listener: Int32
  private let upstream: UInt16
  private let stop: Stop
  private let step: Int
  private let state = Mutex(State())

  var endpoint: String { "http://127.0.0.1:\(port)" }
  /// The steps that were taken, or tried.
  var steps: [String] { state.withLock { $0.seen } }
  /// Whether the program got as far as the step at which it is stopped.
  var hasStopped: Bool { steps.count > step }

  /// - Parameter step: The number of the step at which the program is stopped.
  init(to upstream: UInt16, _ stop: Stop, at step: Int) throws {
    (self.upstream, self.stop, self.step) = (upstream, stop, step)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, length) == 0 && listen(listener, 16) == 0
          && getsockname(listener, pointer, &length) == 0
      }
    }
    guard result else { throw ProgramRun.Unexpected(description: "no port for the proxy") }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [listener, weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        if connection < 0 { return }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        guard let self else {
          close(connection)
          return
        }
        Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Whom to kill.
  func watch(_ run: ProgramRun) { state.withLock { $0.victim = run.process } }

  private func serve(_ connection: Int32) {
    defer { close(connection) }
    var buffer: [UInt8] = []
    do {
      let server = try RawConnection(port: upstream)
      while let request = Self.request(from: connection, &buffer) {
        let isStep = Self.isStep(request.target)
        let number = state.withLock { state in
          if isStep { state.seen.append(request.target) }
          return state.seen.count - 1
        }
        let isStopped = isStep && number == step
        if isStopped, stop == .refusal {
          let body = #"{"uuid":"0","serverErrorCode":"ACCESS_DENIED","reason":"refused by the test"}"#
          guard Self.answer(403, Array(body.utf8), on: connection) else { return }
          continue
        }
        let response = try server.request(request.bytes)
        if isStopped {
          kill()
          return
        }
        guard Self.answer(response.status, response.body, on: connection) else { return }
      }
    } catch {
      // The program sees a connection that breaks off.
    }
  }

  private static func isStep(_ target: String) -> Bool {
    target.hasPrefix("/virga/1/") && !["challenge", "session"].contains(target.dropFirst("/virga/1/".count))
  }

  private func kill() {
    while true {
      if let victim = state.withLock({ $0.victim }) {
        Glibc.kill(victim, SIGKILL)
        return
      }
      // The test names the victim right after it has started it, perhaps after the first request.
      usleep(500)
    }
  }

  private static func request(from connection: Int32, _ buffer: inout [UInt8]) -> (target: String, bytes: [UInt8])? {
    while true {
      if let head = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
        let text = String(decoding: buffer[..<head.lowerBound], as: UTF8.self)
        let lines = text.split(separator: "\r\n").map(String.init)
        let length =
          lines.first { $0.lowercased().hasPrefix("content-length:") }
          .flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) } ?? 0
        let end = head.upperBound + length
        let words = lines.first?.split(separator: " ").map(String.init) ?? []
        if buffer.count >= end, words.count == 3 {
          let bytes = Array(buffer[..<end])
          buffer.removeFirst(end)
          return (words[1], bytes)
        }
      }
      var part = [UInt8](repeating: 0, count: 65_536)
      let count = read(connection, &part, part.count)
      if count <= 0 { return nil }
      buffer += part.prefix(count)
    }
  }

  private static func answer(_ status: Int, _ body: [UInt8], on connection: Int32) -> Bool {
    let head = "HTTP/1.1 \(status) Answer\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
    var rest = (Array(head.utf8) + body)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      if count <= 0 { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
