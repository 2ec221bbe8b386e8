import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

/// Makes and checks the URLs that need no credentials but themselves.
struct SignedURLs: URLMaker {
  /// Where clients reach the server.
  enum Place: Hashable, Sendable {
    /// Without a slash at the end.
    case base(String)
    /// As the request's `Host` field says it.
    case host(String?)
  }

  let place: Place
  let secrets: ServerSecrets

  /// Without a slash at the end. Few requests need one.
  var base: String {
    switch place {
    case .base(let base): base
    case .host(let host): Gateway.base(ofHost: host)
    }
  }

  enum Objection: Error, Hashable, CustomStringConvertible {
    /// Not signed by this server for this use.
    case forged
    case expired

    var description: String { self == .expired ? "the address has expired" : "this server did not make the address" }
  }

  // MARK: Uploads

  func uploadURL(for claim: UploadGrant) -> String {
    let parts = [
      claim.container.rawValue, claim.environment.rawValue, claim.user.rawValue, claim.recordName.rawValue,
      claim.fieldName.rawValue, String(claim.expires.milliseconds), claim.scope.pathName,
    ]
    // No name in a claim has a line break: names hold no control characters.
    let text = parts.joined(separator: "\n")
    let signature = secrets.signature(of: text, for: .uploadURL)
    return "\(base)/assets/1/upload?t=\(CanonicalBase64.encodeForURL(Array(text.utf8))).\(signature)"
  }

  /// The claim of an upload's ticket.
  /// - Parameter grace: How long after its end a claim still counts, for bytes that were under way.
  func claim(
    ticket: String, now: Timestamp, grace: Duration = .zero
  ) throws(Objection) -> UploadGrant {
    let halves = ticket.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard halves.count == 2, let bytes = CanonicalBase64.decodeFromURL(halves[0]) else { throw .forged }
    let text = String(decoding: bytes, as: UTF8.self)
    guard secrets.verifies(halves[1], of: text, for: .uploadURL) else { throw .forged }
    let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 7, let environment = Environment(rawValue: parts[1]), let expires = Int64(parts[5]),
      let scope = DatabaseScope(pathName: parts[6])
    else { throw .forged }
    var claim = UploadGrant(
      container: ContainerID(parts[0]), environment: environment, user: UserName(parts[2]),
      recordName: RecordName(parts[3]), fieldName: FieldName(parts[4]), expires: Timestamp(milliseconds: expires))
    claim.scope = scope
    guard now <= claim.expires + grace else { throw .expired }
    return claim
  }

  // MARK: Shares

  /// Needs no signature: the short GUID is what nobody can guess.
  func shareURL(_ path: SharePath) -> String? { base + path.path }

  // MARK: Downloads

  func downloadURL(checksum: String, size: Int64, expires: Timestamp) -> String {
    let name = Array<UInt8>(base64: checksum).map(CanonicalBase64.encodeForURL) ?? ""
    let signature = downloadSignature(name, size: size, expires: expires)
    return "\(base)/assets/1/download/\(name)?size=\(size)&expires=\(expires.milliseconds)&signature=\(signature)"
  }

  /// The size of the asset that a download's URL names.
  /// - Parameter name: The checksum in the alphabet of URLs, as the path has it.
  func size(ofDownload name: String, _ query: QueryParameters, now: Timestamp) throws(Objection) -> Int64 {
    guard let size = query["size"].flatMap(Int64.init), let milliseconds = query["expires"].flatMap(Int64.init),
      let signature = query["signature"]
    else { throw .forged }
    let expires = Timestamp(milliseconds: milliseconds)
    guard secrets.verifies(signature, of: Self.text(name, size, expires), for: .downloadURL) else { throw .forged }
    guard now <= expires else { throw .expired }
    return size
  }

  private func downloadSignature(_ name: String, size: Int64, expires: Timestamp) -> String {
    secrets.signature(of: Self.text(name, size, expires), for: .downloadURL)
  }

  private static func text(_ name: String, _ size: Int64, _ expires: Timestamp) -> String {
    "\(name)\n\(size)\n\(expires.milliseconds)"
  }

  // MARK: Polls

  /// A push token is a secret of 256 bits, so its URL needs no signature.
  func pushURL(token: String) -> String { "\(base)/push/1/\(token.percentEncodedPathSegment)" }
}
