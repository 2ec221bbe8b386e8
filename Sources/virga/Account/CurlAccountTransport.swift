import VirgaAccounts
import VirgaAuth
import VirgaCloudKit

/// Carries the account's requests by libcurl.
struct CurlAccountTransport: AccountTransport {
  let endpoint: String
  private let transport: CurlTransport

  /// - Parameter certificateFile: Whose certificates are trusted, if not the system's.
  init(endpoint: String, certificateFile: String? = nil) {
    self.endpoint = endpoint
    transport = CurlTransport(certificateFile: certificateFile)
  }

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    var request = TransportRequest(method: method, url: endpoint + path)
    request.headers = headers
    request.body = .bytes(body)
    let answer = try await transport.send(request)
    return (answer.status, answer.body)
  }
}
