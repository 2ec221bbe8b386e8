import Synchronization

/// What a loop counts. Written by its own thread, read by any.
final class LoopCounters: Sendable {
  let connections = Atomic<Int>(0)
  let connectionsAccepted = Atomic<Int>(0)
  let requests = Atomic<Int>(0)
  let requestsUnderWay = Atomic<Int>(0)
  let refusals = Atomic<Int>(0)
  let answersEnded = Atomic<Int>(0)
  let bytesReceived = Atomic<Int>(0)
  let bytesSent = Atomic<Int>(0)
}

/// The state of a server's connections at one moment.
package struct HTTPCounters: Sendable, Hashable {
  package init() {}

  /// Connections that are open now.
  package var connections = 0
  package var connectionsAccepted = 0
  /// Connections that were turned away because there were too many.
  package var connectionsRefused = 0
  /// Requests handed to the handler.
  package var requests = 0
  /// Requests whose handler has not returned: being worked on, or parked.
  package var requestsUnderWay = 0
  /// Requests answered without the handler, being malformed, too large or too slow.
  package var refusals = 0
  /// Answers that were cut off to make room, because their clients hardly read.
  package var answersEnded = 0
  /// What large bodies, and answers that are not yet sent, take of their memory.
  package var memoryBytes = 0
  package var bytesReceived = 0
  package var bytesSent = 0

  mutating func add(_ loop: LoopCounters) {
    connections += loop.connections.load(ordering: .relaxed)
    connectionsAccepted += loop.connectionsAccepted.load(ordering: .relaxed)
    requests += loop.requests.load(ordering: .relaxed)
    requestsUnderWay += loop.requestsUnderWay.load(ordering: .relaxed)
    refusals += loop.refusals.load(ordering: .relaxed)
    answersEnded += loop.answersEnded.load(ordering: .relaxed)
    bytesReceived += loop.bytesReceived.load(ordering: .relaxed)
    bytesSent += loop.bytesSent.load(ordering: .relaxed)
  }
}
