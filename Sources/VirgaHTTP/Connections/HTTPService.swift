import CLinux
import Glibc

/// What the connections of a server share.
final class HTTPService: Sendable {
  let handler: any HTTPHandler
  let configuration: HTTPConfiguration
  let quota: ConnectionQuota
  let bodies: BodyMemory

  init(handler: any HTTPHandler, configuration: HTTPConfiguration, connectionsMax: Int) {
    self.handler = handler
    self.configuration = configuration
    bodies = BodyMemory(
      max: configuration.bodyMemoryBytesMax, perAddressMax: configuration.bodyMemoryBytesPerAddressMax,
      countsLoopback: configuration.countsLoopback || configuration.countsLoopbackBodies)
    quota = ConnectionQuota(
      max: connectionsMax, perAddressMax: configuration.connectionsPerAddressMax,
      countsLoopback: configuration.countsLoopback)
  }

  /// Says why in one short answer, as far as the client takes it, and closes the socket.
  func turnAway(_ descriptor: Int32) {
    var head: [UInt8] = []
    var answer = handler.response(to: .busy)
    answer.closesConnection = true
    appendHead(of: answer, for: .refused, date: Array(httpDate(time(nil)).utf8), to: &head)
    if case .bytes(let body) = answer.body { head += body }
    // What has come is read, or closing would reset the connection and take the answer back.
    var request: [UInt8] = Array(repeating: 0, count: 4_096)
    for _ in 0..<4 where recv(descriptor, &request, request.count, 0) == request.count {}
    send(descriptor, &head, head.count, Int32(MSG_NOSIGNAL))
    close(descriptor)
  }
}
