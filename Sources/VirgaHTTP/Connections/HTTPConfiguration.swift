/// The limits of a server's connections. Durations are counted on the monotonic clock.
package struct HTTPConfiguration: Sendable {
  /// How slow a transfer may be. Being absolute, it cannot be stretched by sending a byte now and then: a transfer ends
  /// at the latest after `grace` plus a second for each `bytesPerSecond` that came through.
  package struct MinimumRate: Sendable {
    package var grace: Duration
    package var bytesPerSecond: Int64

    package init(grace: Duration, bytesPerSecond: Int64) {
      self.grace = grace
      self.bytesPerSecond = bytesPerSecond
    }

    func time(for bytes: Int64) -> Duration {
      grace
        + .milliseconds(
          bytes / max(1, bytesPerSecond) * 1_000 + bytes % max(1, bytesPerSecond) * 1_000 / max(1, bytesPerSecond))
    }
  }

  /// Threads that serve connections.
  package var loops = 2
  /// Connections that are open at a time; lowered to what the process may open.
  package var connectionsMax = 20_000
  /// Connections that one address may have open.
  package var connectionsPerAddressMax = 512
  /// Whether the limits of an address also hold for this machine's own addresses, from where a proxy connects.
  package var countsLoopback = false
  /// The same for the memory of bodies alone: a proxy there has many connections, and says for whom each body is.
  package var countsLoopbackBodies = false

  /// Memory that bodies of requests may take until the requests are answered, and answers until their clients have them,
  /// beyond the first 64 KB of each; those that do not fit are told to wait.
  package var bodyMemoryBytesMax = 256 << 20
  /// The part of it that one address may take.
  package var bodyMemoryBytesPerAddressMax: Int { bodyMemoryBytesMax / 4 }

  package var headBytesMax = 16_384
  package var fieldsMax = 100
  package var targetBytesMax = 8_192
  package var chunkExtensionBytesMax = 1_024
  package var trailerBytesMax = 4_096

  /// From the connection, or the first byte of a later request, to the end of the head.
  package var headTime: Duration = .seconds(10)
  package var bodyRate = MinimumRate(grace: .seconds(10), bytesPerSecond: 10_240)
  package var answerRate = MinimumRate(grace: .seconds(30), bytesPerSecond: 1_024)
  /// The same for an answer that takes memory beyond the first 64 KB.
  package var largeAnswerRate = MinimumRate(grace: .seconds(30), bytesPerSecond: 16_384)
  /// How long an answer may wait for the client to take another byte.
  package var answerStallTime: Duration = .seconds(30)
  /// How long a connection may stay open without a request.
  package var idleTime: Duration = .seconds(75)
  /// How long a connection that is to be closed waits for the client to close it first, so that the client is not
  /// cut off from the answer by bytes of its own that nobody reads.
  package var lingerTime: Duration = .seconds(2)

  package init() {}

  var headLimits: RequestHeadParser.Limits {
    RequestHeadParser.Limits(headBytesMax: headBytesMax, fieldsMax: fieldsMax, targetBytesMax: targetBytesMax)
  }

  var chunkLimits: ChunkedBodyParser.Limits {
    ChunkedBodyParser.Limits(extensionBytesMax: chunkExtensionBytesMax, trailerBytesMax: trailerBytesMax)
  }
}
