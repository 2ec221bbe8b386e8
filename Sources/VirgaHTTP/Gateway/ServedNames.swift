/// The names under which a server answers, and whether anybody but its own machine is meant to reach it.
///
/// A web page may give this machine an address under a name of its own and then ask as if it were the server's page. A
/// proxy may ask for strangers from a loopback address. So a server that was told no public name answers to the
/// machine's own names alone, and refuses what says that it was forwarded; one that was told a name holds nobody for
/// local.
package struct ServedNames: Hashable, Sendable {
  /// The names besides those of the machine itself: in lower case, without a port.
  package private(set) var names: Set<String> = []
  /// Whether strangers reach the server: then nobody is local. That follows from where it listens and what it was told,
  /// not from whether a name can be made of that: a machine may be called `localhost`.
  package let isPublic: Bool

  /// - Parameter baseURL: Where clients reach the server, if that was said.
  /// - Parameter host: The address that it listens on.
  /// - Parameter machineName: What stands for an address that means all of the machine's.
  package init(baseURL: String? = nil, host: String = "127.0.0.1", machineName: String? = nil) {
    let stated = baseURL.flatMap(Self.authority).flatMap { Self.name(of: $0) }
    let listening = Self.name(ofHost: host)
    isPublic = !Self.isLoopback(listening) || baseURL != nil && !Self.isLoopback(stated)
    let own = machineName.map { Self.name(ofHost: $0) } ?? listening
    names = Set([stated, own].compactMap { $0 }.filter { !Self.isLoopback($0) })
  }

  private static func isLoopback(_ name: String?) -> Bool { name.map { isLoopback($0) } ?? false }

  /// The name of an address or a machine. Of an IPv6 address that is good on one of the machine's networks only, clients
  /// do not say on which.
  private static func name(ofHost host: String) -> String? {
    guard host.utf8.contains(UInt8(ascii: ":")) else { return name(of: host) }
    return name(of: "[\(host.prefix { $0 != "%" })]")
  }

  /// The names as an operator is told of them.
  package var description: String {
    (["localhost", "127.0.0.1", "::1"] + names.sorted()).joined(separator: ", ")
  }

  /// Whether the server answers to a `Host` field. HTTP/1.0, which needs none, names nobody else either.
  package func serves(host field: String?) -> Bool {
    guard let field else { return true }
    guard let name = Self.name(of: field) else { return false }
    return Self.isLoopback(name) || names.contains(name)
  }

  // MARK: Names

  /// What stands between `//` and the next `/` of a URL.
  private static func authority(of url: String) -> String? {
    let parts = url.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count >= 3, parts[1].isEmpty else { return nil }
    return String(parts[2])
  }

  /// The name in a `Host` field: in lower case, without port, brackets and the dot at the end; `nil` if there is none.
  static func name(of field: String) -> String? {
    var rest = field.utf8[...]
    let name: Substring.UTF8View
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
      name = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[rest.index(after: end)...]
    } else {
      let end = rest.firstIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
      name = rest[..<end]
      rest = rest[end...]
    }
    guard rest.isEmpty || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy(ByteClass.isDigit) else {
      return nil
    }
    let isDotted = name.last == UInt8(ascii: ".")
    guard let text = String(isDotted ? name.dropLast() : name), !text.isEmpty else { return nil }
    if field.utf8.first == UInt8(ascii: "[") { return SocketAddress.canonical(text) }
    return text.lowercased()
  }

  /// Whether a name is one that every machine has for itself. Names that only begin like an address are others'.
  static func isLoopback(_ name: String) -> Bool {
    if name == "localhost" || name == "127.0.0.1" || name == "::1" { return true }
    guard name.utf8.starts(with: "127.".utf8) else { return false }
    return SocketAddress.canonical(name) == name
  }
}

extension HTTPRequestHead {
  /// Whether it says that a proxy sent it for somebody on another machine.
  var isForwarded: Bool {
    if headers["Forwarded"] != nil || headers["Via"] != nil { return true }
    return ["X-Forwarded-For", "X-Real-IP"].contains { name in
      headers.fields.contains { field in
        field.name.equalsIgnoringASCIICase(name)
          && !field.value.utf8.split(separator: UInt8(ascii: ",")).allSatisfy { part in
            SocketAddress.canonical(part).map(SocketAddress.isLoopback) ?? false
          }
      }
    }
  }
}
