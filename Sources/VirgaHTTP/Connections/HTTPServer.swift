import CLinux
import Glibc
import Synchronization

/// A strict HTTP/1.1 server for one address. TLS and HTTP/2 are left to a proxy in front.
///
/// A server is started once and has to be stopped; its threads do not end by themselves.
package final class HTTPServer: Sendable {
  private struct Running {
    var loops: [EventLoop]
    var listener: SourceKey
    var service: HTTPService
    var connectionsMax: Int
  }

  /// Descriptors left to everything that is no connection: databases, uploads, files being sent.
  private static let descriptorsReserved = 128
  private static let connectionsAtLeast = 16
  private static let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)

  private let handler: any HTTPHandler
  private let configuration: HTTPConfiguration
  private let running = Mutex<Running?>(nil)

  package init(handler: any HTTPHandler, configuration: HTTPConfiguration = HTTPConfiguration()) {
    self.handler = handler
    self.configuration = configuration
  }

  /// Listens and serves from now on.
  /// - Parameter host: An address of this machine or a name for one; `127.0.0.1` and `::1` are reached from it alone.
  /// - Parameter port: Zero picks a free one.
  /// - Returns: The port.
  @discardableResult
  package func start(host: String, port: UInt16) throws(HTTPServerError) -> UInt16 {
    clinux_keep_freed_memory()
    let connectionsMax = try Self.connectionsPossible(atMost: configuration.connectionsMax)
    var loops: [EventLoop] = []
    for _ in 0..<max(1, configuration.loops) { loops.append(try EventLoop()) }
    let bound = try Listener.bind(host: host, port: port)
    let service = HTTPService(handler: handler, configuration: configuration, connectionsMax: connectionsMax)
    let listener = loops[0].add(bound.descriptor, events: EPOLLIN.rawValue) { [loops] key in
      Listener(bound.descriptor, loop: loops[0], key: key, service: service, loops: loops)
    }
    try Self.startAll(loops, listener: listener)
    running.withLock { [loops] running in
      precondition(running == nil, "a server is started once")
      running = Running(loops: loops, listener: listener, service: service, connectionsMax: connectionsMax)
    }
    return bound.port
  }

  /// Starts the threads of all loops or of none.
  private static func startAll(_ loops: [EventLoop], listener: SourceKey) throws(HTTPServerError) {
    for (index, loop) in loops.enumerated() {
      do throws(HTTPServerError) {
        try loop.start()
      } catch {
        if index == 0 { loop.source(listener)?.close() }
        for started in loops[..<index] { started.post { started.drain(until: EventLoop.clock()) {} } }
        throw error
      }
    }
  }

  /// Takes no more connections, cancels the requests under way so that parked ones answer at once, and closes each
  /// connection after its answer. Returns when all are closed, at the latest when `drain` is over.
  package func stop(drain: Duration) async {
    let stopping = running.withLock { running in
      let stopping = running
      running = nil
      return stopping
    }
    guard let stopping else { return }
    let loops = stopping.loops
    let end = EventLoop.clock() + drain
    await withCheckedContinuation { continuation in
      let loopsLeft = Mutex(loops.count)
      let loopIsDrained: @Sendable () -> Void = {
        let isLast = loopsLeft.withLock { count in
          count -= 1
          return count == 0
        }
        if isLast { continuation.resume() }
      }
      // First the listener, so that every connection it has handed to a loop is there before that loop drains.
      loops[0].post {
        loops[0].source(stopping.listener)?.close()
        for loop in loops { loop.post { loop.drain(until: end, then: loopIsDrained) } }
      }
    }
  }

  /// How many connections may be open at a time; fewer than configured if the process may not open so many files.
  package var connectionsMax: Int { running.withLock { $0?.connectionsMax ?? 0 } }

  /// What the connections are at. All zero when the server does not run.
  package var counters: HTTPCounters {
    running.withLock { running in
      var counters = HTTPCounters()
      guard let running else { return counters }
      for loop in running.loops { counters.add(loop.counters) }
      counters.memoryBytes = running.service.bodies.total
      counters.connectionsRefused = running.service.quota.refused.load(ordering: .relaxed)
      return counters
    }
  }

  /// Raises the process's limit of open files as far as it may, and returns how many connections fit.
  private static func connectionsPossible(atMost wanted: Int) throws(HTTPServerError) -> Int {
    var limit = rlimit()
    guard getrlimit(descriptorLimit, &limit) == 0 else { throw .system(call: "getrlimit", code: errno) }
    if limit.rlim_cur < limit.rlim_max, limit.rlim_cur < rlim_t(wanted + descriptorsReserved) {
      limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted + descriptorsReserved))
      setrlimit(descriptorLimit, &limit)
      getrlimit(descriptorLimit, &limit)
    }
    let possible = min(wanted, Int(clamping: limit.rlim_cur) - descriptorsReserved)
    guard possible >= min(wanted, connectionsAtLeast) else {
      throw .tooFewDescriptors(limit: Int(clamping: limit.rlim_cur))
    }
    return possible
  }
}
