import FoundationEssentials
package import VirgaModel

/// A request that a server-to-server key signs: what is signed, and how both sides write it.
///
/// Source: CloudKit Web Services Reference, "Authenticate Web Service Requests"; where clients differ from it, what they
/// send is accepted.
package struct SignedRequest: Hashable, Sendable {
  package static let keyIDHeader = "X-Apple-CloudKit-Request-KeyID"
  package static let dateHeader = "X-Apple-CloudKit-Request-ISO8601Date"
  package static let signatureHeader = "X-Apple-CloudKit-Request-SignatureV1"

  /// The date as its header says it, byte for byte.
  package var date: String
  /// The body as it arrived.
  package var body: [UInt8]
  /// The target as it arrived: path and query, still percent-encoded.
  package var target: String

  package init(date: String, body: [UInt8], target: String) {
    self.date = date
    self.body = body
    self.target = target
  }

  // MARK: Signing

  /// The headers of a request, for programs that sign.
  /// - Parameter now: The moment that goes into the date.
  package static func headers(
    keyID: String, key: SigningKey, target: String, body: [UInt8], now: Timestamp
  ) throws(KeyError) -> [(name: String, value: String)] {
    let request = SignedRequest(date: ISO8601.text(now), body: body, target: target)
    let signature = try key.signature(of: request.message(hash: request.hashes[0], path: request.paths[0]))
    return [
      (name: keyIDHeader, value: keyID), (name: dateHeader, value: request.date),
      (name: signatureHeader, value: CanonicalBase64.encode(signature)),
    ]
  }

  /// What is signed.
  package func message(hash: String, path: String) -> [UInt8] { Array("\(date):\(hash):\(path)".utf8) }

  // MARK: Verifying

  /// Whether `signature`, in Base64, is the key's over this request in one of the forms that clients sign.
  package func isSigned(by key: VerifyingKey, signature: String) -> Bool {
    guard let bytes = CanonicalBase64.decode(signature) else { return false }
    let forms = [bytes, ECDSASignature.der(ofRaw: bytes)].compactMap(\.self)
    for hash in hashes {
      for path in paths {
        let message = message(hash: hash, path: path)
        if forms.contains(where: { key.verifies($0, of: message) }) { return true }
      }
    }
    return false
  }

  /// Whether the date can be read and lies near enough.
  package func isTimely(now: Timestamp) -> Bool {
    guard let moment = ISO8601.timestamp(date) else { return false }
    let window = Limits.signedRequestWindow
    return now - window <= moment && moment <= now + window
  }

  /// An empty body is hashed by some clients and left out by others.
  private var hashes: [String] {
    let hash = CanonicalBase64.encode(SHA256.digest(of: body))
    return body.isEmpty ? ["", hash] : [hash]
  }

  /// The path as it was sent and decoded, each without and with the query: some clients sign it too.
  private var paths: [String] {
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let sent = String(parts[0])
    let decoded = sent.percentDecoded ?? sent
    var paths = sent == decoded ? [sent] : [sent, decoded]
    if parts.count == 2 { paths += paths.map { "\($0)?\(parts[1])" } }
    return paths
  }
}
