import CLinux
import Glibc
import TestSupport

/// Many clients on one thread, each with a connection and one request under way, so that the machine's cores are left
/// to the server. A thread for each client would wake as often as there are answers, and measure that.
enum LoadDriver {
  /// A client: makes its next request, given the answer to the last one, or `nil` when it is done.
  typealias Behaviour = (_ answer: [UInt8]?) throws -> [UInt8]?

  fileprivate struct Client {
    let connection: RawConnection
    let next: Behaviour
    /// What came of the answer so far.
    var answer: [UInt8] = []
  }

  /// Runs all clients to their end; every answer must be 200.
  /// - Returns: how many seconds it took.
  static func run(_ behaviours: [Behaviour], port: UInt16) throws -> Double {
    let epoll = epoll_create1(0)
    defer { close(epoll) }
    var clients: [Client] = []
    for (number, behaviour) in behaviours.enumerated() {
      let connection = try RawConnection(port: port)
      clients.append(Client(connection: connection, next: behaviour))
      var event = epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: UInt64(number)))
      epoll_ctl(epoll, EPOLL_CTL_ADD, connection.descriptor, &event)
    }
    return try seconds {
      var waiting = 0
      for number in clients.indices where try clients[number].send(clients[number].next(nil)) { waiting += 1 }
      try withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        while waiting > 0 {
          let count = epoll_wait(epoll, events.baseAddress, Int32(events.count), 30_000)
          guard count > 0 else { throw BenchError("no answer within 30 s") }
          for index in 0..<Int(count) {
            let number = Int(events[index].data.u64)
            guard let answer = try clients[number].receive() else { continue }
            if try !clients[number].send(clients[number].next(answer)) { waiting -= 1 }
          }
        }
      }
    }
  }
}

extension LoadDriver.Client {
  /// Answers false if there is nothing to send.
  fileprivate func send(_ request: [UInt8]?) throws -> Bool {
    guard let request else { return false }
    try connection.send(request)
    return true
  }

  /// The answer, once it is complete.
  fileprivate mutating func receive() throws -> [UInt8]? {
    let count = withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { space in
      let count = read(connection.descriptor, space.baseAddress, space.count)
      if count > 0 { answer.append(contentsOf: UnsafeRawBufferPointer(start: space.baseAddress, count: count)) }
      return count
    }
    guard count > 0 else { throw BenchError("the server closed the connection") }
    guard let end = answer.offset(of: "\r\n\r\n") else { return nil }
    guard answer.starts(with: "HTTP/1.1 200 ".utf8) else {
      throw BenchError(String(decoding: answer.prefix(500), as: UTF8.self))
    }
    guard let length = answer.number(after: "Content-Length: ") else { throw BenchError("an answer without a length") }
    guard answer.count >= end + 4 + length else { return nil }
    var whole: [UInt8] = []
    swap(&whole, &answer)
    return whole
  }
}
