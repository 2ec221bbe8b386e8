import Synchronization
import VirgaWire

/// What a server counts, as Prometheus reads it (text format 0.0.4).
///
/// Names of people, containers and records are in none of it.
package final class Metrics: Sendable {
  /// One number that somebody else keeps.
  package struct Reading: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable { case counter, gauge }

    package var name: String
    package var kind: Kind
    package var help: String
    package var value: Int

    package init(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
      self.name = name
      self.kind = kind
      self.help = help
      self.value = value
    }
  }

  private struct Counts {
    /// By route and class of status (1xx to 5xx).
    var answers = [Int](repeating: 0, count: Metrics.routes.count * 5)
    /// By bucket of time, not yet added up, and the time of all in microseconds.
    var times = [Int](repeating: 0, count: Metrics.bounds.count + 1)
    var microseconds = 0
    /// Errors of single items, by operation and code.
    var itemErrors = [Int](repeating: 0, count: Metrics.routes.count * Metrics.codes.count)
  }

  private static let others = [
    "account", "management", "upload", "download", "push", "share", "health", "preflight", "none",
  ]
  private static let routes = Operation.allCases.map(\.rawValue) + others
  private static let places = Dictionary(uniqueKeysWithValues: Operation.allCases.enumerated().map { ($1, $0) })
  private static let codes = ServerErrorCode.allCases.map(\.rawValue)
  private static let codePlaces = Dictionary(uniqueKeysWithValues: codes.enumerated().map { ($1, $0) })
  /// Microseconds.
  private static let bounds = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000,
  ]

  private let counts = Mutex(Counts())
  private let sources = Mutex<[@Sendable () -> [Reading]]>([])

  package init() {}

  /// Adds numbers that are read each time somebody asks.
  package func add(_ source: @escaping @Sendable () -> [Reading]) { sources.withLock { $0.append(source) } }

  func count(_ route: Route, status: Int, time: Duration) {
    guard let place = Self.place(of: route) else { return }
    let (seconds, attoseconds) = time.components
    let microseconds = Int(seconds) * 1_000_000 + Int(attoseconds / 1_000_000_000_000)
    let bucket = Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count
    // How long a poll was parked says nothing of the server.
    let isTimed = if case .push = route { false } else { true }
    counts.withLock { counts in
      counts.answers[place * 5 + min(max(status / 100, 1), 5) - 1] += 1
      guard isTimed else { return }
      counts.times[bucket] += 1
      counts.microseconds += microseconds
    }
  }

  /// Counts the errors of single items in an answer that is none itself.
  func count(_ failures: [ServerErrorCode], of operation: Operation) {
    guard !failures.isEmpty, let place = Self.places[operation] else { return }
    counts.withLock { counts in
      for code in failures {
        guard let codePlace = Self.codePlaces[code.rawValue] else { continue }
        counts.itemErrors[place * Self.codes.count + codePlace] += 1
      }
    }
  }

  private static func place(of route: Route) -> Int? {
    if case .call(let endpoint) = route { return places[endpoint.operation] }
    let name =
      switch route {
      case .call, .management, .schema, .credentials, .metrics: "management"
      case .account: "account"
      case .upload: "upload"
      case .download: "download"
      case .push: "push"
      case .share: "share"
      case .health, .ready: "health"
      case .preflight: "preflight"
      case .wrongMethod, .notFound, .malformed: "none"
      }
    return routes.firstIndex(of: name)
  }

  func text() -> String {
    let counts = counts.withLock { $0 }
    var text =
      "# HELP virga_answers_total Answers by operation and class of status.\n# TYPE virga_answers_total counter\n"
    for (place, route) in Self.routes.enumerated() {
      for kind in 0..<5 where counts.answers[place * 5 + kind] > 0 {
        let labels = #"{operation="\#(route)",status="\#(kind + 1)xx"}"#
        text += "virga_answers_total\(labels) \(counts.answers[place * 5 + kind])\n"
      }
    }
    text += "# HELP virga_item_errors_total Errors of single items in answers with status 200, by operation and code.\n"
    text += "# TYPE virga_item_errors_total counter\n"
    for (place, route) in Self.routes.enumerated() {
      for (codePlace, code) in Self.codes.enumerated() {
        let count = counts.itemErrors[place * Self.codes.count + codePlace]
        if count > 0 { text += #"virga_item_errors_total{operation="\#(route)",code="\#(code)"} \#(count)"# + "\n" }
      }
    }
    text += "# HELP virga_answer_seconds How long answers took, without long polls.\n"
    text += "# TYPE virga_answer_seconds histogram\n"
    var sum = 0
    for (bound, count) in zip(Self.bounds, counts.times) {
      sum += count
      text += "virga_answer_seconds_bucket{le=\"\(Double(bound) / 1_000_000)\"} \(sum)\n"
    }
    sum += counts.times[Self.bounds.count]
    text += "virga_answer_seconds_bucket{le=\"+Inf\"} \(sum)\n"
    text += "virga_answer_seconds_sum \(Double(counts.microseconds) / 1_000_000)\nvirga_answer_seconds_count \(sum)\n"
    for reading in sources.withLock({ $0 }).flatMap({ $0() }) {
      text += "# HELP \(reading.name) \(reading.help)\n# TYPE \(reading.name) \(reading.kind.rawValue)\n"
      text += "\(reading.name) \(reading.value)\n"
    }
    return text
  }
}

extension HTTPCounters {
  /// The counters as metrics.
  package var readings: [Metrics.Reading] {
    [
      .init("virga_http_connections", .gauge, "Open connections.", connections),
      .init("virga_http_connections_accepted_total", .counter, "Connections accepted.", connectionsAccepted),
      .init("virga_http_connections_refused_total", .counter, "Connections turned away.", connectionsRefused),
      .init("virga_http_requests_total", .counter, "Requests read.", requests),
      .init(
        "virga_http_requests_under_way", .gauge, "Requests without an answer yet, with waiting polls.", requestsUnderWay
      ),
      .init("virga_http_refusals_total", .counter, "Requests that were malformed, too large or too slow.", refusals),
      .init("virga_http_memory_bytes", .gauge, "Memory of large bodies and of answers not yet sent.", memoryBytes),
      .init(
        "virga_http_answers_ended_total", .counter,
        "Answers cut off to free memory, because their clients read too slowly.",
        answersEnded),
      .init("virga_http_received_bytes_total", .counter, "Bytes received.", bytesReceived),
      .init("virga_http_sent_bytes_total", .counter, "Bytes sent.", bytesSent),
    ]
  }
}
