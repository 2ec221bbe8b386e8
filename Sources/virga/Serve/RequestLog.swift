import Foundation
import VirgaHTTP

/// Writes a line for each request. The query is left out: it holds tokens.
struct RequestLog: HTTPHandler {
  let handler: any HTTPHandler

  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan {
    let plan = handler.bodyPlan(for: head)
    if case .refuse(let answer) = plan { write(head, answer.status, address: "-", .zero) }
    return plan
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let start = ContinuousClock.now
    let answer = await handler.respond(to: request)
    write(request.head, answer.status, address: request.clientAddress, ContinuousClock.now - start)
    return answer
  }

  func response(to refusal: HTTPRefusal) -> HTTPResponse { handler.response(to: refusal) }

  private func write(_ head: HTTPRequestHead, _ status: Int, address: String, _ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let microseconds = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    let moment = Date().formatted(.iso8601)
    Terminal.complain("\(moment) \(address) \(head.method) \(head.path) \(status) \(microseconds) µs")
  }
}
