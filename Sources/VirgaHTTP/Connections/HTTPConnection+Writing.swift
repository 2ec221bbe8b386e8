import CLinux
import Glibc

extension HTTPConnection {
  /// Up to this size a body is copied behind its head, which costs less than a second buffer in the system call.
  private static let smallBodyMax = 16_384
  /// Bytes after which other connections get their turn.
  private static let bytesPerTurn = 1 << 20

  /// Begins to write an answer. What follows, the next request or the end, is decided once the socket took it all.
  func answer(_ response: HTTPResponse) {
    var (response, file) = (response, AnswerFile?.none)
    if !isWritable(response) {
      response = substitute(status: 500, for: response)
    } else if case .file(let path, let offset, let length) = response.body {
      file = AnswerFile(path: path, offset: offset, length: length)
      if file == nil { response = substitute(status: 404, for: response) }
    }
    var share: AnswerShare?
    if case .bytes(let bytes) = response.body, bytes.count > BodyMemory.freeBytes, !response.isBrokenOff {
      share = takeRoom(bytes.count)
      if share == nil {
        response.whenDone?(false)
        response = service.handler.response(to: .crowded)
      }
    }
    whenDone = response.whenDone
    keepsAlive = keepsAlive && !response.closesConnection && !loop.isDraining
    let context = AnswerContext(
      isHead: head?.head.method == "HEAD", isVersion10: head?.isVersion10 ?? false, keepsAlive: keepsAlive)
    head = nil
    loop.dates.refresh()
    loop.head.removeAll(keepingCapacity: true)
    phase = .answering
    if response.isBrokenOff { return breakOff(response, context) }
    switch appendHead(of: response, for: context, date: loop.dates.bytes, to: &loop.head) {
    case .none:
      if let share { service.bodies.giveBack(share) }
      sendAtOnce()
    case .bytes(let bytes) where bytes.count <= Self.smallBodyMax:
      loop.head.append(contentsOf: bytes)
      sendAtOnce()
    case .bytes(let bytes):
      output = Outgoing(head: loop.head, body: bytes, began: loop.now, share: share)
      flush()
    case .file:
      output = Outgoing(head: loop.head, file: file, began: loop.now)
      flush()
    }
  }

  /// Room for an answer until its client has it; `nil` if there is none.
  private func takeRoom(_ count: Int) -> AnswerShare? {
    service.bodies.share(ofAnswer: count, to: head.map(caller) ?? SocketAddress.counted(address), now: loop.now) {
      [loop, key] share in
      loop.post {
        // Its client may have got the rest meanwhile, and have asked for something else.
        guard let connection = loop.source(key) as? HTTPConnection, connection.output?.share === share else { return }
        loop.counters.answersEnded.add(1, ordering: .relaxed)
        connection.close()
      }
    }
  }

  /// Forgets an answer that is sent or will not be.
  func dropOutput() {
    if let share = output?.share { service.bodies.giveBack(share) }
    output = nil
  }

  /// Sends a head that promises a body, and ends. A close without a byte would not do: clients take it for a connection
  /// that was idle too long, and send the request again by themselves.
  private func breakOff(_ response: HTTPResponse, _ context: AnswerContext) {
    var promise = response
    promise.status = 200
    promise.body = .bytes([UInt8](repeating: 0x20, count: 64))
    appendHead(of: promise, for: context, date: loop.dates.bytes, to: &loop.head)
    send(descriptor, loop.head, loop.head.count, Int32(MSG_NOSIGNAL))
    close()
  }

  /// What goes out in place of an answer that cannot be written.
  private func substitute(status: Int, for response: HTTPResponse) -> HTTPResponse {
    response.whenDone?(false)
    return HTTPResponse(status: status)
  }

  /// Sends what is in the loop's buffer, and keeps only what the socket does not take.
  private func sendAtOnce() {
    let count = send(descriptor, loop.head, loop.head.count, Int32(MSG_NOSIGNAL))
    if count == loop.head.count {
      loop.counters.bytesSent.add(count, ordering: .relaxed)
      answerIsSent()
    } else {
      output = Outgoing(head: loop.head, began: loop.now)
      flush()
    }
  }

  /// Sends on until all is sent or the socket takes no more.
  func flush() {
    var budget = Self.bytesPerTurn
    while output != nil {
      guard budget > 0 else { return yieldTurn() }
      let count = sendSome()
      if count > 0 {
        budget -= count
        output?.sent += Int64(count)
        if let output, let share = output.share { share.note(sent: output.sent, now: loop.now) }
        loop.counters.bytesSent.add(count, ordering: .relaxed)
        if isOutputSent { answerIsSent() }
      } else if count < 0, errno == EAGAIN {
        return waitForRoom()
      } else if count == 0 || errno != EINTR {
        // The client is gone, or the file became shorter and the promised length cannot be kept.
        return close()
      }
    }
  }

  private var isOutputSent: Bool {
    guard let output else { return true }
    return output.offset == output.head.count + output.body.count && output.file?.remaining ?? 0 == 0
  }

  /// Returns what the system call returned.
  private func sendSome() -> Int {
    guard let output else { return 0 }
    let offset = output.offset
    if offset < output.head.count + output.body.count {
      let count = sendPieces(output.head, output.body, from: offset, isMoreToCome: output.file != nil)
      if count > 0 { self.output?.offset += count }
      return count
    }
    guard let file = output.file else { return 0 }
    let count = sendfile(descriptor, file.descriptor, &file.offset, Int(min(file.remaining, Int64(Self.bytesPerTurn))))
    if count > 0 { file.remaining -= Int64(count) }
    return count
  }

  private func sendPieces(_ head: [UInt8], _ body: [UInt8], from offset: Int, isMoreToCome: Bool) -> Int {
    let flags = Int32(MSG_NOSIGNAL) | (isMoreToCome ? Int32(MSG_MORE) : 0)
    return head.withUnsafeBytes { head in
      body.withUnsafeBytes { body in
        let headRest = UnsafeMutableRawBufferPointer(mutating: UnsafeRawBufferPointer(rebasing: head.dropFirst(offset)))
        let bodyRest = UnsafeMutableRawBufferPointer(
          mutating: UnsafeRawBufferPointer(rebasing: body.dropFirst(max(0, offset - head.count))))
        return withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { pieces in
          pieces[0] = iovec(iov_base: headRest.baseAddress, iov_len: headRest.count)
          pieces[1] = iovec(iov_base: bodyRest.baseAddress, iov_len: bodyRest.count)
          var message = msghdr()
          message.msg_iov = pieces.baseAddress
          message.msg_iovlen = 2
          return sendmsg(descriptor, &message, flags)
        }
      }
    }
  }

  /// Bounds both the wait for the next byte and the time for the whole, which a client could stretch by taking little.
  private func waitForRoom() {
    guard let output else { return }
    let configuration = service.configuration
    output.share?.noteWait(sent: output.sent, now: loop.now)
    let rate = output.share == nil ? configuration.answerRate : configuration.largeAnswerRate
    setDeadline(min(loop.now + configuration.answerStallTime, output.began + rate.time(for: output.sent)))
  }

  private func answerIsSent() {
    dropOutput()
    whenDone?(true)
    whenDone = nil
    guard keepsAlive, !loop.isDraining else { return linger() }
    phase = .head
    setDeadline(loop.now + service.configuration.idleTime)
  }
}
