import VirgaAuth
import VirgaCloudKit

/// Carries the account's requests by libcurl.
struct CurlAccountTransport: AccountTransport {
  let endpoint: String
  private let transport = CurlTransport()

  init(endpoint: String) { self.endpoint = endpoint }

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
