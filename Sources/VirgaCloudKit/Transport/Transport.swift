/// Carries requests to a server: libcurl in programs, a call into the server's code in tests.
package protocol Transport: Sendable {
  /// Sends a request and gives its answer, whatever its status.
  ///
  /// Cancelling the task cancels the transfer, at once.
  /// - Throws: `TransportError` if no whole answer came.
  func send(_ request: TransportRequest) async throws -> TransportResponse
}

package struct TransportRequest: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// Streamed from a file, from its beginning to its end.
    case file(FileSource)
  }

  package enum Sink: Sendable {
    case memory
    /// Streamed into a file if the status is 200, or 206 with the part that the file lacks; other answers go to memory.
    case file(FileSink)
  }

  package var method: String
  /// Absolute.
  package var url: String
  package var headers: [(name: String, value: String)] = []
  package var body = Body.bytes([])
  package var sink = Sink.memory
  /// Whether the request may be sent again by itself when a connection that was kept open turns out to be dead.
  package var isRepeatable = false
  /// How long the whole exchange may take; for bodies in files, how long it may stand still.
  package var timeout: Duration = .seconds(60)
  /// Told the bytes of the body sent and of the answer received so far. Called on the transport's thread: must not block.
  package var progress: (@Sendable (_ sent: Int64, _ received: Int64) -> Void)?

  package init(method: String, url: String) {
    self.method = method
    self.url = url
  }
}

package struct TransportResponse: Sendable {
  package var status: Int
  /// The status that came, where the body says that another one is meant.
  package var statusOnTheWay: Int?
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The first header of that name, without regard to case.
  package subscript(header name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// Why no answer came.
package enum TransportError: Error, Hashable, Sendable, CustomStringConvertible {
  /// No connection: no route, no such host, nobody listens.
  case unreachable(String)
  /// There is somebody at that address, but no secure connection.
  case insecure(TLSFailure)
  /// The network failed before the request was out.
  case failed(String)
  /// The request was sent and its answer did not come, or not whole: it may have taken effect.
  case responseLost(String)
  /// The answer is larger than `responseBytesMax`.
  case tooLarge
  case cancelled
  /// A file could not be read or written.
  case file(String)
  /// There is no space left for a file.
  case diskFull(String)

  package var description: String {
    switch self {
    case .unreachable(let text), .failed(let text), .responseLost(let text), .file(let text), .diskFull(let text): text
    case .insecure(let failure): failure.text
    case .tooLarge: "the answer is too large"
    case .cancelled: "cancelled"
    }
  }
}

/// Why there is no secure connection. The texts are libcurl's.
package enum TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// Nobody whom this device trusts vouches for the certificate, or it is another server's, or too old.
  case untrusted(String)
  /// What answers does not speak TLS, or no version or cipher that both know.
  case failed(String)
  /// The file of certificates that was named cannot be read.
  case certificateFileUnusable(String)

  package var description: String { text }

  package var text: String {
    switch self {
    case .untrusted(let detail):
      "the server's certificate is not trusted (\(detail)); if it is your own, put the file with its issuer's "
        + "certificate into VIRGA_CA_FILE"
    case .failed(let detail):
      "no secure connection is possible (\(detail)); for a server without TLS, use an address that begins with http:"
    case .certificateFileUnusable(let path):
      "the file \(path) in VIRGA_CA_FILE holds no readable certificates"
    }
  }
}

extension Transport {
  /// The most bytes of an answer that are taken into memory.
  package static var responseBytesMax: Int { 64 << 20 }
}
