import CLinux
import Glibc

/// Many clients on one thread, each with a connection and one request under way, so that the machine's cores are left
/// to the server. A thread for each client would wake as often as there are answers, and measure that.
enum LoadDriver {
  fileprivate struct Client {
    let descriptor: Int32
    let requests: [[UInt8]]
    var sent = 0
    /// What came of the answer so far.
    var answer: [UInt8] = []
  }

  /// Sends each client's requests one after another; every answer must be 200.
  /// - Returns: answers a second.
  static func rate(_ requests: [[[UInt8]]], port: UInt16) throws -> Double {
    let epoll = epoll_create1(0)
    defer { close(epoll) }
    var clients: [Client] = []
    defer { for client in clients { close(client.descriptor) } }
    for (number, mine) in requests.enumerated() {
      let descriptor = try connect(port: port)
      clients.append(Client(descriptor: descriptor, requests: mine))
      var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: UInt64(number)))
      epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event)
    }
    let elapsed = try seconds {
      var waiting = 0
      for number in clients.indices where try clients[number].sendNext() { waiting += 1 }
      try withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        while waiting > 0 {
          let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), 30_000)
          guard count > 0 else { throw BenchError("no answer within 30 s") }
          for index in 0..<Int(count) {
            let number = Int(events[index].data.u64)
            guard try clients[number].receive() else { continue }
            if try !clients[number].sendNext() { waiting -= 1 }
          }
        }
      }
    }
    return Double(requests.reduce(0) { $0 + $1.count }) / elapsed
  }

  private static func connect(port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0 else { throw BenchError("no connection to port \(port)") }
    return descriptor
  }
}

extension LoadDriver.Client {
  /// Answers false when all were sent.
  fileprivate mutating func sendNext() throws -> Bool {
    guard sent < requests.count else { return false }
    let request = requests[sent]
    sent += 1
    var offset = 0
    while offset < request.count {
      let count = request.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + offset, $0.count - offset, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw BenchError("the server closed the connection") }
      offset += count
    }
    return true
  }

  /// Answers true once the answer is complete.
  fileprivate mutating func receive() throws -> Bool {
    let count = withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { space in
      let count = read(descriptor, space.baseAddress, space.count)
      if count > 0 { answer.append(contentsOf: UnsafeRawBufferPointer(start: space.baseAddress, count: count)) }
      return count
    }
    guard count > 0 else { throw BenchError("the server closed the connection") }
    let isWhole = try answer.withUnsafeBytes { bytes in
      guard let end = offset(of: "\r\n\r\n", in: bytes) else { return false }
      guard bytes.starts(with: "HTTP/1.1 200 ".utf8) else {
        throw BenchError(String(decoding: bytes.prefix(500), as: UTF8.self))
      }
      guard var digit = offset(of: "Content-Length: ", in: bytes).map({ $0 + 16 }) else {
        throw BenchError("an answer without a length")
      }
      var length = 0
      while digit < end, (48...57).contains(bytes[digit]) {
        length = length * 10 + Int(bytes[digit] - 48)
        digit += 1
      }
      return bytes.count >= end + 4 + length
    }
    if isWhole { answer.removeAll(keepingCapacity: true) }
    return isWhole
  }

  private func offset(of pattern: StaticString, in bytes: UnsafeRawBufferPointer) -> Int? {
    memmem(bytes.baseAddress!, bytes.count, pattern.utf8Start, pattern.utf8CodeUnitCount).map {
      UnsafeRawPointer($0) - bytes.baseAddress!
    }
  }
}
