import CLinux
import Glibc

/// An address and port of IPv4 or IPv6.
struct SocketAddress {
  private(set) var storage = sockaddr_storage()
  private(set) var length = socklen_t(MemoryLayout<sockaddr_storage>.size)

  /// Finds the address of a name, or reads it if it is one; brackets around an IPv6 address may stay.
  init(host: String, port: UInt16) throws(HTTPServerError) {
    let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    guard !name.isEmpty else { throw .badHost(host) }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    // `localhost` is IPv4 here, whichever order the machine's files have, so that everybody finds the same server.
    hints.ai_family = name == "localhost" ? AF_INET : AF_UNSPEC
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    var results: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, String(port), &hints, &results) == 0, let first = results else { throw .badHost(host) }
    defer { freeaddrinfo(results) }
    guard let address = first.pointee.ai_addr, first.pointee.ai_addrlen <= length else { throw .badHost(host) }
    length = first.pointee.ai_addrlen
    withUnsafeMutableBytes(of: &storage) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(length)))
    }
  }

  /// The address that `read` fills in, as `getsockname` or `accept4` do; `nil` if it returns a negative number.
  init?(_ read: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32) {
    let result = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in read(address, &length) }
    }
    guard result >= 0 else { return nil }
  }

  var family: Int32 { Int32(storage.ss_family) }

  func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    withUnsafePointer(to: storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  var port: UInt16 {
    withUnsafeBytes(of: storage) { bytes in
      // Both families keep the port at this place, in the network's byte order.
      UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    }
  }

  /// The address as text, without port; IPv4 also where it came in through an IPv6 socket.
  var text: String {
    let text = withUnsafeBytes(of: storage) { bytes in
      withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
        let offset = family == AF_INET ? 4 : 8
        guard let address = bytes.baseAddress, let start = buffer.baseAddress,
          let end = inet_ntop(family, address + offset, start, socklen_t(buffer.count))
        else { return "" }
        return String(cString: end)
      }
    }
    return text.hasPrefix("::ffff:") && text.contains(".") ? String(text.dropFirst(7)) : text
  }

  /// An address as the system writes it, of what a proxy or a URL spells in any of its ways, perhaps with a port; `nil` for
  /// what is no address. It looks at bytes: characters that combine with a comma or a dot are none.
  static func canonical(_ spelled: some StringProtocol) -> String? { canonical(Array(spelled.utf8)[...]) }

  static func canonical(_ spelled: some Collection<UInt8>) -> String? {
    var text = Array(spelled)[...]
    while let byte = text.first, ByteClass.isWhiteSpace(byte) { text.removeFirst() }
    while let byte = text.last, ByteClass.isWhiteSpace(byte) { text.removeLast() }
    let colons = text.count { $0 == UInt8(ascii: ":") }
    if text.first == UInt8(ascii: "[") {
      guard let end = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      guard isPort(text[(end + 1)...]) else { return nil }
      text = text[(text.startIndex + 1)..<end]
      guard text.contains(UInt8(ascii: ":")) else { return nil }
    } else if colons == 1, let end = text.firstIndex(of: UInt8(ascii: ":")) {
      guard isPort(text[end...]) else { return nil }
      text = text[..<end]
    }
    guard (2...45).contains(text.count), !text.contains(0) else { return nil }
    let family = text.contains(UInt8(ascii: ":")) ? AF_INET6 : AF_INET
    var bytes = [UInt8](repeating: 0, count: 16)
    guard inet_pton(family, String(decoding: text, as: UTF8.self), &bytes) == 1 else { return nil }
    if family == AF_INET6, bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]) {
      return bytes[12...].map { String($0) }.joined(separator: ".")
    }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
      guard let start = buffer.baseAddress,
        let end = inet_ntop(family, bytes, start, socklen_t(buffer.count))
      else { return nil }
      return String(cString: end)
    }
  }

  /// Whether it is nothing, or a colon and digits.
  private static func isPort(_ text: ArraySlice<UInt8>) -> Bool {
    text.isEmpty || text.first == UInt8(ascii: ":") && text.count > 1 && text.dropFirst().allSatisfy(ByteClass.isDigit)
  }

  /// What stands for an address where connections, requests and guesses of one are counted: of IPv6 the network of 64
  /// bits, since whoever has one address there has all of its network.
  static func counted(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: ":")) else { return text }
    var bytes = [UInt8](repeating: 0, count: 16)
    let bare = text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : text
    guard !isLoopback(bare), inet_pton(AF_INET6, bare, &bytes) == 1 else { return bare }
    if bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]) {
      return bytes[12...].map { String($0) }.joined(separator: ".")
    }
    return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ".") + "/64"
  }

  var isLoopback: Bool { Self.isLoopback(text) }
  static func isLoopback(_ text: String) -> Bool { text == "::1" || text.hasPrefix("127.") }
}
