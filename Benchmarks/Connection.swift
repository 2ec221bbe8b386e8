import Glibc

/// A blocking keep-alive HTTP/1.1 connection to the loopback interface: as little client as can be, so that what is
/// measured is the server.
final class Connection {
  struct Response {
    var status: Int
    var body: ArraySlice<UInt8>
    func header(_ name: String) -> String? {
      for line in head.split(separator: "\r\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        if parts.count == 2, parts[0].lowercased() == name.lowercased() {
          return String(parts[1].drop { $0 == " " })
        }
      }
      return nil
    }
    fileprivate var head: String
  }

  private let descriptor: Int32
  private var buffer: [UInt8] = []

  init(port: UInt16) {
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
    precondition(result == 0, "cannot connect to port \(port)")
  }

  deinit { close(descriptor) }

  /// Sends a whole request, as it is.
  func send(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { raw in
      var sent = 0
      while sent < raw.count {
        let count = write(descriptor, raw.baseAddress! + sent, raw.count - sent)
        precondition(count > 0, "the server closed the connection")
        sent += count
      }
    }
  }

  /// Reads one response with a `Content-Length`.
  func receive() -> Response {
    var headEnd = find(in: buffer)
    while headEnd == nil {
      fill()
      headEnd = find(in: buffer)
    }
    let head = String(decoding: buffer[..<headEnd!], as: UTF8.self)
    var response = Response(status: Int(head.split(separator: " ")[1]) ?? 0, body: [], head: head)
    let length = Int(response.header("Content-Length") ?? "0") ?? 0
    let start = headEnd! + 4
    buffer.reserveCapacity(start + length)
    while buffer.count < start + length { fill() }
    response.body = buffer[start..<start + length]
    buffer.removeFirst(start + length)
    response.body = ArraySlice(response.body)
    return response
  }

  func request(_ bytes: [UInt8]) -> Response {
    send(bytes)
    return receive()
  }

  private func find(in bytes: [UInt8]) -> Int? {
    guard bytes.count >= 4 else { return nil }
    var index = 0
    while index + 3 < bytes.count {
      if bytes[index] == 13, bytes[index + 1] == 10, bytes[index + 2] == 13, bytes[index + 3] == 10 { return index }
      index += 1
    }
    return nil
  }

  private func fill() {
    let count = withUnsafeTemporaryAllocation(byteCount: 1 << 18, alignment: 16) { space in
      let count = read(descriptor, space.baseAddress!, space.count)
      if count > 0 { buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count])) }
      return count
    }
    precondition(count > 0, "the server closed the connection")
  }
}

/// A request as bytes.
func requestBytes(_ method: String, _ target: String, body: [UInt8] = [], headers: String = "") -> [UInt8] {
  var bytes = Array("\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(headers)".utf8)
  if method != "GET" { bytes += Array("Content-Length: \(body.count)\r\n".utf8) }
  bytes += [13, 10]
  bytes += body
  return bytes
}
