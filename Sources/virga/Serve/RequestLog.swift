import Foundation
import VirgaAuth
import VirgaHTTP

/// What a server tells its operator, line by line on standard error.
struct EventLog: Sendable {
  enum Format: String, Sendable, CaseIterable { case text, json }

  /// One request. It holds no names of records and nothing of what people store.
  struct Line: Encodable {
    var time: String
    var level = "info"
    var request: String
    var address: String
    var method: String
    var path: String
    var status: Int
    var microseconds: Int64
  }

  private struct Event: Encodable {
    var time: String
    var level = "warning"
    var message: String
  }

  var format: Format

  func write(_ line: Line) {
    switch format {
    case .json: print(line)
    case .text:
      Terminal.complain(
        "\(line.time) \(line.address) \(line.method) \(line.path) \(line.status) \(line.microseconds) µs \(line.request)"
      )
    }
  }

  func write(event message: String) {
    switch format {
    case .json: print(Event(time: Self.now, message: message))
    case .text: Terminal.complain("virga: \(message)")
    }
  }

  static var now: String { Date().formatted(.iso8601) }

  private func print(_ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let data = try? encoder.encode(value) else { return }
    Terminal.complain(String(decoding: data, as: UTF8.self))
  }
}

/// Writes a line for each request, under the identifier that its answer carries.
struct RequestLog: HTTPHandler {
  private static let idHeader = "X-Apple-Request-UUID"

  let handler: any HTTPHandler
  let log: EventLog

  func bodyPlan(for head: HTTPRequestHead) -> BodyPlan {
    let plan = handler.bodyPlan(for: head)
    if case .refuse(let answer) = plan { write(head, answer, address: "-", .zero) }
    return plan
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let start = ContinuousClock.now
    var answer = await handler.respond(to: request)
    if answer.headers[Self.idHeader] == nil { answer.headers.append(Self.idHeader, UUID().uuidString) }
    write(request.head, answer, address: request.clientAddress, ContinuousClock.now - start)
    return answer
  }

  func response(to refusal: HTTPRefusal) -> HTTPResponse { handler.response(to: refusal) }

  private func write(_ head: HTTPRequestHead, _ answer: HTTPResponse, address: String, _ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    log.write(
      EventLog.Line(
        time: EventLog.now, request: answer.headers[Self.idHeader] ?? "-", address: address, method: head.method,
        path: Self.shown(head.path), status: answer.status,
        microseconds: seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
  }

  /// The path without what is secret or somebody's: the query holds tokens, the path of a poll is one, that of a
  /// download tells which bytes somebody has, and with that of a share anybody may join it.
  private static func shown(_ path: Substring) -> String {
    // The server also takes a path of which more is escaped than need be.
    let decoded = path.percentDecoded ?? String(path)
    for prefix in ["/push/1/", "/assets/1/download/", "/share/"] where decoded.hasPrefix(prefix) { return prefix + "…" }
    return String(path)
  }
}
