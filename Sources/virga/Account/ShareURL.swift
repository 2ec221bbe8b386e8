import Foundation
import VirgaAuth
import VirgaModel
import VirgaWire

/// The address of a share, taken apart: the server, and what `records/accept` asks there.
struct ShareURL {
  let endpoint: String
  let path: SharePath
  /// What opens the encrypted values of the share's zone, if the address says it. It is not sent to the server.
  let fragment: String?

  init(_ text: String) throws(Failure) {
    guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(), let host = url.host,
      scheme == "http" || scheme == "https", let found = SharePath(path: url.percentEncodedPath)
    else {
      throw Failure(
        .usage, "\(text) is not the address of a share: http(s)://SERVER/share/CONTAINER/ENVIRONMENT/SHORT-GUID")
    }
    let name = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    endpoint = "\(scheme)://\(name)" + (url.port.map { ":\($0)" } ?? "")
    path = found
    fragment = url.percentEncodedFragment
  }

  /// Whether a server that the device knows is the one that the address names. All names of this machine are one.
  func leads(to known: String) -> Bool { Self.place(of: known) == Self.place(of: endpoint) }

  private static func place(of endpoint: String) -> [String]? {
    guard let url = URLComponents(string: endpoint), let scheme = url.scheme?.lowercased(),
      let host = url.host?.lowercased()
    else { return nil }
    let isHere = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
    return [scheme, isHere ? "localhost" : host, "\(url.port ?? (scheme == "https" ? 443 : 80))", url.path]
  }

  var call: Call { .recordsAccept(ShortGUIDsRequest(shortGUIDs: [ShortGUID(path.shortGUID)])) }

  var operation: Endpoint {
    Endpoint(container: path.container, environment: path.environment, scope: .public, operation: .recordsAccept)
  }
}

extension SharePath {
  /// - Returns: `nil` if the path is none of a share's address.
  fileprivate init?(path: String) {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false).map { $0.percentDecoded ?? "" }
    guard segments.count == 5, segments[0].isEmpty, segments[1] == "share", !segments[2].isEmpty,
      let environment = VirgaModel.Environment(rawValue: segments[3]), !segments[4].isEmpty
    else { return nil }
    self.init(container: ContainerID(segments[2]), environment: environment, shortGUID: segments[4])
  }
}

extension RecordEnvelope {
  /// What the owner of a share calls it.
  var title: String? {
    guard let value = (try? Fields(json: fieldsJSON))?["cloudkit.title"]?.value, case .string(let text) = value else {
      return nil
    }
    return text
  }
}
