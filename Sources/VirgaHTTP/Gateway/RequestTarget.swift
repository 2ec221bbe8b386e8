import Synchronization

/// A request's method and target, taken apart: where it goes, and the parameters of its query.
final class RequestTarget: Sendable {
  let route: Route
  let query: QueryParameters

  init(_ head: HTTPRequestHead) {
    route = Route(head)
    query = QueryParameters(of: head)
  }
}

/// Remembers the targets of calls, of which a client has a few that it sends again and again.
final class TargetMemory: Sendable {
  /// A client that changes its targets, with a cache buster for one, pushes out the others' now and then, which costs
  /// each of them one look at their next.
  static let targetsMax = 512
  static let targetBytesMax = 1_024

  private let targets = Mutex<[String: RequestTarget]>([:])

  func target(of head: HTTPRequestHead) -> RequestTarget {
    guard head.method == "POST", head.target.utf8.count <= Self.targetBytesMax, Route.isBelowCalls(head.target) else {
      return RequestTarget(head)
    }
    if let known = targets.withLock({ $0[head.target] }) { return known }
    let target = RequestTarget(head)
    guard case .call = target.route else { return target }
    targets.withLock { targets in
      if targets.count >= Self.targetsMax { targets.removeAll() }
      targets[head.target] = target
    }
    return target
  }

  var count: Int { targets.withLock { $0.count } }
}
