import CLinux
import Glibc

/// A client that sends the bytes it is told to. Every wait ends after a few seconds with what has come.
final class SocketClient {
  struct Answer: Equatable {
    var status: Int
    var fields: [String: String]
    var body: [UInt8]
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  let descriptor: Int32
  private var received: [UInt8] = []
  private(set) var isAtEnd = false

  static let patience: Int32 = 20_000

  private let isVersion6: Bool

  init(port: UInt16, isVersion6: Bool = false, receiveBuffer: Int32? = nil) {
    self.isVersion6 = isVersion6
    descriptor = socket(isVersion6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    if port != 0 { connect(port: port) }
  }

  /// A client that has its descriptor and does not connect yet.
  static func unconnected() -> SocketClient { SocketClient(port: 0) }

  func connect(port: UInt16) {
    var result: Int32
    if isVersion6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_addr = in6addr_loopback
      result = connect(to: &address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      result = connect(to: &address)
    }
    precondition(result == 0, "connect failed: \(errno)")
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private func connect<Address>(to address: inout Address) -> Int32 {
    withUnsafeBytes(of: &address) { bytes in
      Glibc.connect(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, socklen_t(bytes.count))
    }
  }

  deinit { Glibc.close(descriptor) }

  /// Sends all of it, or as much as the server takes before it closes.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Waits until there is something to read; false after `milliseconds`.
  func waitForInput(milliseconds: Int32 = patience) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }

  /// Reads what is there into `buffer` and forgets it.
  func receiveNow(_ buffer: inout [UInt8]) -> Int { recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)) }

  /// Reads once; false at the end of the stream or of the client's patience.
  private func receive() -> Bool {
    guard !isAtEnd, waitForInput() else { return false }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else {
      isAtEnd = true
      return false
    }
    received += buffer[..<count]
    return true
  }

  /// Whether the server closes, having sent nothing more than what was read.
  func isClosedByServer() -> Bool {
    while receive() {}
    return isAtEnd && received.isEmpty
  }

  func everythingUntilEnd() -> String {
    while receive() {}
    defer { received = [] }
    return String(decoding: received, as: UTF8.self)
  }

  /// Reads one answer, interim ones too; `nil` if the connection ends before it is whole.
  func answer(hasBody: Bool = true) -> Answer? {
    let end: [UInt8] = Array("\r\n\r\n".utf8)
    var headEnd: Int?
    var scanned = 0
    while headEnd == nil {
      if received.count >= 4 {
        for start in scanned...(received.count - 4) where Array(received[start..<start + 4]) == end {
          headEnd = start
          break
        }
        scanned = max(0, received.count - 3)
      }
      if headEnd == nil, !receive() { return nil }
    }
    guard let headEnd else { return nil }
    let lines = String(decoding: received[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    let status = Int(lines[0].split(separator: " ")[1]) ?? 0
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] = parts[1].drop { $0 == " " }.description
    }
    received.removeSubrange(..<(headEnd + 4))
    let length = hasBody && status >= 200 ? fields["content-length"].flatMap(Int.init) ?? 0 : 0
    while received.count < length { guard receive() else { return nil } }
    let body = Array(received[..<length])
    received.removeSubrange(..<length)
    return Answer(status: status, fields: fields, body: body)
  }

  /// Reads an answer without keeping its body, whose length it returns.
  func skipAnswer() -> Int? {
    guard let length = answer(hasBody: false)?.fields["content-length"].flatMap(Int.init) else { return nil }
    var count = received.count
    received = []
    while count < length, receive() {
      count += received.count
      received.removeAll(keepingCapacity: true)
    }
    return count
  }

  /// Sends a request and reads its answer.
  func ask(_ text: String, hasBody: Bool = true) -> Answer? {
    send(text)
    return answer(hasBody: hasBody)
  }
}
