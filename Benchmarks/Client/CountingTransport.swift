import Synchronization
import VirgaCloudKit

/// libcurl, with a list of what it carried.
final class CountingTransport: Transport {
  private struct State {
    var count = 0
    var feedRequests: [TransportRequest] = []
  }

  private let curl = CurlTransport()
  private let state = Mutex(State())

  var count: Int { state.withLock { $0.count } }
  /// The requests for pages of records, in their order.
  var feedRequests: [TransportRequest] { state.withLock { $0.feedRequests } }

  func send(_ request: TransportRequest) async throws -> TransportResponse {
    state.withLock { state in
      state.count += 1
      if request.url.contains("/changes/zone") { state.feedRequests.append(request) }
    }
    return try await curl.send(request)
  }

  /// Sends requests again and throws the answers away.
  func download(_ requests: [TransportRequest]) async throws {
    for request in requests {
      let answer = try await curl.send(request)
      guard answer.status == 200 else { throw BenchError("the service answered \(answer.status)") }
    }
  }
}
