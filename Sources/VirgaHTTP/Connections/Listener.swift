import CLinux
import Glibc

/// The socket that takes connections and hands them to the loops in turn.
///
/// One listener rather than one for each loop (`SO_REUSEPORT`): the loops get equal shares even of few connections, and
/// a second server on the same port fails to start instead of taking half of them.
final class Listener: EventSource {
  private static let acceptsPerTurn = 64
  private static let backlog: Int32 = 1_024
  /// How long accepting rests when the process can open no more files and has not even one in reserve.
  private static let rest: Duration = .milliseconds(100)

  private unowned let loop: EventLoop
  private let key: SourceKey
  private let descriptor: Int32
  private let service: HTTPService
  private let loops: [EventLoop]
  private var next = 0
  private var isOpen = true
  /// Given up for a moment when the process can open no more files: a client can then be turned away rather than hang.
  private var reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)

  init(_ descriptor: Int32, loop: EventLoop, key: SourceKey, service: HTTPService, loops: [EventLoop]) {
    self.descriptor = descriptor
    self.loop = loop
    self.key = key
    self.service = service
    self.loops = loops
  }

  /// Opens a listening socket.
  static func bind(host: String, port: UInt16) throws(HTTPServerError) -> (descriptor: Int32, port: UInt16) {
    let address = try SocketAddress(host: host, port: port)
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.family, kind, 0)
    guard descriptor >= 0 else { throw .system(call: "socket", code: errno) }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard address.withSocketAddress({ Glibc.bind(descriptor, $0, $1) }) == 0, listen(descriptor, backlog) == 0 else {
      let code = errno
      Glibc.close(descriptor)
      switch code {
      case EADDRINUSE: throw .addressInUse(host: host, port: port)
      case EACCES, EPERM: throw .permissionDenied(host: host, port: port)
      case EADDRNOTAVAIL: throw .badHost(host)
      default: throw .system(call: "bind", code: code)
      }
    }
    let bound = SocketAddress { getsockname(descriptor, $0, $1) }
    return (descriptor, bound?.port ?? port)
  }

  func handle(_ events: UInt32) {
    for _ in 0..<Self.acceptsPerTurn where isOpen {
      var descriptor: Int32 = -1
      let flags = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
      let peer = SocketAddress { address, length in
        descriptor = accept4(self.descriptor, address, length, flags)
        return descriptor
      }
      if let peer {
        welcome(descriptor, from: peer.text)
      } else if errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM {
        turnAwayWithReserve()
        return
      } else if errno != EINTR && errno != ECONNABORTED {
        return
      }
    }
  }

  private func welcome(_ descriptor: Int32, from address: String) {
    guard service.quota.take(address) else {
      service.turnAway(descriptor)
      return
    }
    let target = loops[next]
    next = (next + 1) % loops.count
    let service = service
    if target === loop {
      HTTPConnection.open(descriptor, address: address, on: target, service: service)
    } else {
      target.post { HTTPConnection.open(descriptor, address: address, on: target, service: service) }
    }
  }

  private func turnAwayWithReserve() {
    service.quota.refused.add(1, ordering: .relaxed)
    if reserve >= 0 {
      Glibc.close(reserve)
      let descriptor = accept4(descriptor, nil, nil, Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue))
      if descriptor >= 0 { service.turnAway(descriptor) }
      reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
      if descriptor >= 0 { return }
    }
    loop.setEvents(0, of: descriptor, key: key)
    loop.schedule(loop.now + Self.rest, for: key)
  }

  func deadlineCame(_ instant: Instant) {
    if reserve < 0 { reserve = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    loop.setEvents(EPOLLIN.rawValue, of: descriptor, key: key)
  }

  func turnEnded() {}
  func drain() { close() }

  func close() {
    guard isOpen else { return }
    isOpen = false
    loop.remove(key)
    Glibc.close(descriptor)
    if reserve >= 0 { Glibc.close(reserve) }
  }
}
