import Foundation
import Synchronization
import VirgaCloudKit
import VirgaHTTP

/// An HTTP server of one test on a free port.
final class LocalServer: Sendable {
  private let server: HTTPServer
  let url: String

  init(_ handler: any HTTPHandler) throws {
    server = HTTPServer(handler: handler)
    let port = try server.start(host: "127.0.0.1", port: 0)
    url = "http://127.0.0.1:\(port)"
  }

  func stop() async { await server.stop(drain: .seconds(1)) }

  var openConnections: Int { server.counters.connections }
}

/// Answers with a closure; bodies above 64 KB go to a file in the folder.
struct ClosureHandler: HTTPHandler {
  var folder = NSTemporaryDirectory()
  var answer: @Sendable (HTTPRequest) async -> HTTPResponse

  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan {
    let length = head.headers["Content-Length"].flatMap { Int($0) } ?? 0
    return length > 65_536 ? .stream(directory: folder, limit: 1 << 31) : .buffer(limit: 65_536)
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse { await answer(request) }
}
