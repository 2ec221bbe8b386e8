import Glibc

/// A blocking keep-alive HTTP/1.1 connection to the loopback interface: as little client as can be, so that what is
/// measured or tested is the server.
package final class RawConnection {
  package enum Failure: Error { case refused, closed }

  package struct Response {
    package var status: Int
    package var body: [UInt8]
    fileprivate var head: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The first value of that header field.
    package func header(_ name: String) -> String? {
      for line in String(decoding: head, as: UTF8.self).split(separator: "\r\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == name.lowercased() {
          return String(parts[1].drop { $0 == " " })
        }
      }
      return nil
    }
  }

  package let descriptor: Int32
  private var buffer: [UInt8] = []
  private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)

  package init(port: UInt16) throws(Failure) {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result != 0 { throw .refused }
  }

  deinit {
    close(descriptor)
    scratch.deallocate()
  }

  /// Sends bytes as they are. `MSG_NOSIGNAL`: a server that was killed must not take the caller with it.
  package func send(_ bytes: [UInt8]) throws(Failure) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { throw .closed }
      sent += count
    }
  }

  /// Reads one response with a `Content-Length`.
  package func receive() throws(Failure) -> Response {
    var end = buffer.offset(of: "\r\n\r\n")
    while end == nil {
      let searched = max(0, buffer.count - 3)
      try fill()
      end = buffer.offset(of: "\r\n\r\n", from: searched)
    }
    let start = (end ?? 0) + 4
    var response = Response(status: buffer.number(after: " ") ?? 0, body: [], head: Array(buffer[..<start]))
    let length = response.head.number(after: "Content-Length: ") ?? 0
    buffer.reserveCapacity(start + length)
    while buffer.count < start + length { try fill() }
    response.body = Array(buffer[start..<start + length])
    buffer.removeFirst(start + length)
    return response
  }

  package func request(_ bytes: [UInt8]) throws(Failure) -> Response {
    try send(bytes)
    return try receive()
  }

  private func fill() throws(Failure) {
    let count = read(descriptor, scratch.baseAddress, scratch.count)
    if count <= 0 { throw .closed }
    buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: scratch[..<count]))
  }
}

/// A request as bytes.
package func requestBytes(_ method: String, _ target: String, body: [UInt8] = [], headers: String = "") -> [UInt8] {
  var bytes = Array("\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(headers)".utf8)
  if method != "GET" { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
  bytes += [13, 10]
  bytes += body
  return bytes
}
