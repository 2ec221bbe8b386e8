/// Carries the account's requests to the server: libcurl in programs, a call in tests.
package protocol AccountTransport: Sendable {
  /// Sends a request to the server and gives its answer, whatever its status.
  /// - Parameter path: Begins with a slash; the transport knows the server.
  /// - Throws: If no answer came. The error reaches the caller of `AccountClient` as it is.
  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8])
}
