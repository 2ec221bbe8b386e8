import CLinux
import Glibc

/// One client's connection: reads requests, hands them to the handler one at a time, writes the answers in order.
///
/// A client that has shut down its sending side looks the same as one that went away (both send FIN), and a parked poll
/// must not outlive its client. So a client that does so still gets the answer if the handler has it within the turn of
/// the loop that notices; after that the request is cancelled and the connection closed.
///
/// Belongs to its loop's thread. The descriptor is watched edge-triggered for everything once and for all; what it was
/// last said to be ready for is remembered in `isReadable` and by the output that is left.
final class HTTPConnection: EventSource {
  enum Phase {
    /// Waiting for a request or in the middle of its head.
    case head
    case body
    /// The handler has the request. Nothing is read, so a client that sends on is held back by TCP.
    case handling
    case answering
    /// All is said; waiting for the client to close.
    case lingering
    case closed
  }

  let loop: EventLoop
  let service: HTTPService
  let descriptor: Int32
  let key: SourceKey
  let address: String

  var phase = Phase.head
  /// What was received and not yet looked at: the rest of a line, or requests sent ahead of their turn.
  var input: [UInt8] = []
  var isReadable = true
  /// The client has sent FIN.
  var peerLeft = false
  /// Whether the deadline is that of a head: from the start on, later from the first byte of the next request.
  var hasHeadDeadline = true
  var parser: RequestHeadParser
  var head: ParsedHead?
  var body: BodyReceiver?
  /// Whether a large body has to wait until the handler has looked at who sends it.
  var mustBeAdmitted = false
  /// What a large body takes of the server's memory, until its request is handed over.
  var bodyShare: BodyShare?
  var task: Task<Void, Never>?
  var keepsAlive = true
  var output: Outgoing?
  /// What the handler wants to know of the answer under way.
  var whenDone: (@Sendable (Bool) -> Void)?
  private var willBeRepeated = false
  /// When the connection has to be done with what it is at.
  private(set) var deadline = Instant.never
  /// The instant that the loop was asked for; others it comes with are stale.
  private var scheduled = Instant.never

  private static let events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | EPOLLET.rawValue

  private init(_ descriptor: Int32, address: String, key: SourceKey, loop: EventLoop, service: HTTPService) {
    self.descriptor = descriptor
    self.address = address
    self.key = key
    self.loop = loop
    self.service = service
    parser = RequestHeadParser(limits: service.configuration.headLimits)
  }

  /// Takes a nonblocking socket for which a place in the quota has been taken.
  static func open(_ descriptor: Int32, address: String, on loop: EventLoop, service: HTTPService) {
    loop.assertOnLoop()
    guard !loop.isDraining else {
      Glibc.close(descriptor)
      service.quota.release(address)
      return
    }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    loop.counters.connections.add(1, ordering: .relaxed)
    loop.counters.connectionsAccepted.add(1, ordering: .relaxed)
    loop.add(descriptor, events: events) { key in
      let connection = HTTPConnection(descriptor, address: address, key: key, loop: loop, service: service)
      connection.setDeadline(loop.now + service.configuration.headTime)
      return connection
    }
  }

  func handle(_ events: UInt32) {
    if events == 0 { willBeRepeated = false }
    guard events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) == 0 else { return close() }
    if events & EPOLLIN.rawValue != 0 { isReadable = true }
    if events & EPOLLRDHUP.rawValue != 0 {
      peerLeft = true
      isReadable = true
      if phase == .handling { loop.settleAtTurnEnd(key) }
    }
    if phase == .answering { flush() }
    goOn()
  }

  func turnEnded() {
    if peerLeft, phase == .handling { close() }
  }

  /// Asks for another turn, so that a client with much to send or take does not keep the loop from the others.
  func yieldTurn() {
    guard !willBeRepeated else { return }
    willBeRepeated = true
    loop.handleAgain(key)
  }

  // MARK: Handling

  /// Starts the handler with a request that is complete.
  func handle(_ body: HTTPRequest.Body, of head: ParsedHead) {
    phase = .handling
    deadline = .never
    loop.counters.requests.add(1, ordering: .relaxed)
    let request = HTTPRequest(head: head.head, body: body, clientAddress: address)
    // The handler may hold the body on when the client has left.
    let share = bodyShare
    bodyShare = nil
    task = loop.spawn { [service, loop, key] in
      let response = await service.handler.respond(to: request)
      share?.giveBack()
      // The connection may be gone, and its place taken by another one with another key.
      guard let connection = loop.source(key) as? HTTPConnection else {
        response.whenDone?(false)
        return
      }
      connection.finish(response)
    }
    if loop.isDraining { task?.cancel() }
    if peerLeft { loop.settleAtTurnEnd(key) }
  }

  /// Has the handler look at who sends a large body, of which nothing more is read meanwhile.
  func askForAdmission(of head: ParsedHead) {
    phase = .handling
    deadline = .never
    let request = HTTPRequest(head: head.head, clientAddress: address)
    task = loop.spawn { [service, loop, key] in
      let refusal = await service.handler.refusal(ofCaller: request)
      (loop.source(key) as? HTTPConnection)?.admit(refusal)
    }
    if loop.isDraining { task?.cancel() }
    if peerLeft { loop.settleAtTurnEnd(key) }
  }

  private func admit(_ refusal: HTTPResponse?) {
    loop.assertOnLoop()
    precondition(phase == .handling, "an admission that nobody asked for")
    task = nil
    if let refusal {
      loop.counters.requests.add(1, ordering: .relaxed)
      body = nil
      keepsAlive = false
      answer(refusal)
    } else {
      goOnWithBody()
    }
    goOn()
  }

  private func finish(_ response: HTTPResponse) {
    loop.assertOnLoop()
    precondition(phase == .handling, "an answer to no request")
    task = nil
    answer(response)
    goOn()
  }

  // MARK: Deadlines

  func setDeadline(_ instant: Instant) {
    deadline = instant
    guard instant < scheduled else { return }
    scheduled = instant
    loop.schedule(instant, for: key)
  }

  func deadlineCame(_ instant: Instant) {
    guard instant == scheduled else { return }
    scheduled = .never
    guard deadline <= loop.now else {
      if deadline != .never { setDeadline(deadline) }
      return
    }
    switch phase {
    case .head where parser.hasBegun || !input.isEmpty: refuse(.timeout)
    case .body: refuse(.timeout)
    case .head, .answering, .lingering: close()
    case .handling, .closed: break
    }
  }

  // MARK: Ending

  func drain() {
    switch phase {
    case .handling: task?.cancel()
    case .head:
      // A request may have come whose event has not.
      isReadable = true
      goOn()
    case .body, .answering, .lingering, .closed: break
    }
  }

  /// Whether there is nothing to lose in closing at once.
  var isIdle: Bool { phase == .head && !parser.hasBegun && input.isEmpty }

  /// Ends the sending side and waits for the client to close; closing at once could reset the connection and destroy
  /// an answer that is still on its way.
  func linger() {
    guard !peerLeft, shutdown(descriptor, Int32(SHUT_WR)) == 0 else { return close() }
    phase = .lingering
    input = []
    setDeadline(loop.now + service.configuration.lingerTime)
  }

  func close() {
    guard phase != .closed else { return }
    phase = .closed
    task?.cancel()
    task = nil
    body = nil
    bodyShare = nil
    dropOutput()
    input = []
    whenDone?(false)
    whenDone = nil
    loop.remove(key)
    Glibc.close(descriptor)
    service.quota.release(address)
    loop.counters.connections.subtract(1, ordering: .relaxed)
  }
}
