import CLinux
import Glibc

extension HTTPConnection {
  /// Full reads after which other connections get their turn.
  private static let readsPerTurn = 16
  private static let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

  /// Goes on with what has been received and what there is to receive.
  func goOn() {
    if !input.isEmpty, phase == .head || phase == .body { takeInput() }
    read()
    if loop.isDraining, isIdle { close() }
  }

  private func read() {
    var reads = 0
    while isReadable, phase == .head || phase == .body || phase == .lingering {
      guard reads < Self.readsPerTurn else { return yieldTurn() }
      reads += 1
      let count = recv(descriptor, loop.scratch.baseAddress, loop.scratch.count, 0)
      if count > 0 {
        loop.counters.bytesReceived.add(count, ordering: .relaxed)
        // A read that does not fill the buffer has emptied the socket, and epoll will tell of more. An end of the
        // stream behind the data has been told already, though.
        isReadable = count == loop.scratch.count || peerLeft
        take(UnsafeRawBufferPointer(rebasing: loop.scratch[..<count]))
      } else if count == 0 {
        peerLeft = true
        close()
      } else if errno == EAGAIN {
        isReadable = false
      } else if errno != EINTR {
        close()
      }
    }
  }

  private func take(_ received: UnsafeRawBufferPointer) {
    guard phase != .lingering else { return }
    guard input.isEmpty else {
      input.append(contentsOf: received)
      takeInput()
      return
    }
    var offset = 0
    parse(received.bindMemory(to: UInt8.self).span, from: &offset)
    if phase != .closed, phase != .lingering, offset < received.count { input = Array(received[offset...]) }
  }

  private func takeInput() {
    var bytes: [UInt8] = []
    swap(&bytes, &input)
    var offset = 0
    parse(bytes.span, from: &offset)
    guard phase != .closed, phase != .lingering, offset < bytes.count else { return }
    bytes.removeSubrange(..<offset)
    input = bytes
  }

  /// Takes requests from `bytes` until one is under way or the bytes are used up.
  private func parse(_ bytes: Span<UInt8>, from offset: inout Int) {
    do throws(HTTPRefusal) {
      while offset < bytes.count {
        switch phase {
        case .head:
          guard let head = try parser.parse(bytes, from: &offset) else { return headIsUnderWay() }
          try begin(head, hasMore: offset < bytes.count)
        case .body:
          try body?.take(bytes, from: &offset)
          try bodyMoved()
        case .handling, .answering, .lingering, .closed: return
        }
      }
    } catch {
      refuse(error)
    }
  }

  private func headIsUnderWay() {
    guard !hasHeadDeadline else { return }
    hasHeadDeadline = true
    setDeadline(loop.now + service.configuration.headTime)
  }

  private func begin(_ head: ParsedHead, hasMore: Bool) throws(HTTPRefusal) {
    parser = RequestHeadParser(limits: service.configuration.headLimits)
    hasHeadDeadline = false
    self.head = head
    keepsAlive = head.keepsAlive
    let chunkLimits = service.configuration.chunkLimits
    let plan = service.handler.bodyPlan(for: head.head)
    mustBeAdmitted = false
    switch plan {
    case .refuse(let response):
      if head.framing != .none { keepsAlive = false }
      answer(response)
      return
    case .buffer where head.framing == .none, .bufferOnceAdmitted where head.framing == .none:
      handle(.bytes([]), of: head)
      return
    case .buffer(let limit), .bufferOnceAdmitted(let limit):
      if case .bufferOnceAdmitted = plan { mustBeAdmitted = true }
      body = try BodyReceiver(buffering: head.framing, limit: limit, chunkLimits: chunkLimits, began: loop.now)
    case .stream(let directory, let limit, let digests):
      body = try BodyReceiver(
        streaming: head.framing, into: UploadFile(in: directory, digests: digests), limit: limit,
        chunkLimits: chunkLimits, began: loop.now)
    }
    phase = .body
    try bodyMoved()
    if phase == .body, head.expectsContinue, !hasMore { sendInterim() }
  }

  /// Hands the request on if its body is complete, else gives the body the time it has earned.
  private func bodyMoved() throws(HTTPRefusal) {
    guard let receiver = body, let head else { return }
    if mustBeAdmitted, receiver.exceeds(HTTPRequest.strangersBodyBytesMax) { return askForAdmission(of: head) }
    if receiver.bytesInMemory > BodyMemory.freeBytes {
      let share = bodyShare ?? BodyShare(of: service.bodies, for: caller(of: head))
      bodyShare = share
      try share.grow(to: receiver.bytesInMemory, now: loop.now)
    }
    guard receiver.isComplete else {
      setDeadline(receiver.began + service.configuration.bodyRate.time(for: receiver.received))
      return
    }
    let whole = body?.finish() ?? .bytes([])
    body = nil
    handle(whole, of: head)
  }

  /// Takes the rest of a body whose sender is admitted.
  func goOnWithBody() {
    mustBeAdmitted = false
    phase = .body
    do throws(HTTPRefusal) { try bodyMoved() } catch { return refuse(error) }
    if phase == .body, body?.received == 0, input.isEmpty, head?.expectsContinue == true { sendInterim() }
  }

  func caller(of head: ParsedHead) -> String {
    HTTPRequest(head: head.head, clientAddress: address).callerAddress
  }

  private func sendInterim() {
    let count = send(descriptor, Self.interim, Self.interim.count, Int32(MSG_NOSIGNAL))
    // All earlier answers have been taken by the socket, so there is room, unless the client is gone.
    guard count == Self.interim.count else { return close() }
    loop.counters.bytesSent.add(count, ordering: .relaxed)
  }

  /// Answers a request that cannot be taken, and closes.
  func refuse(_ refusal: HTTPRefusal) {
    loop.counters.refusals.add(1, ordering: .relaxed)
    body = nil
    bodyShare = nil
    keepsAlive = false
    answer(service.handler.response(to: refusal))
  }
}
