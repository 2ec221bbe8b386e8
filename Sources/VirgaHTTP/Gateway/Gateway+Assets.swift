import VirgaAuth
import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  /// How long after the end of its URL an upload may still finish, if it began in time.
  private static let uploadGrace: Duration = .seconds(24 * 3_600)

  // MARK: Uploads

  /// Takes the bytes of an asset to their place and answers the receipt that a record needs to claim them.
  func upload(ticket: String, _ request: HTTPRequest) async -> HTTPResponse {
    let uuid = makeUUID()
    let now = configuration.now()
    let claim: UploadGrant
    do {
      var grace = Duration.zero
      // A body that was streamed was let in by its head, when the URL was valid.
      if case .file = request.body { grace = Self.uploadGrace }
      claim = try urls(for: request.head).claim(ticket: ticket, now: now, grace: grace)
    } catch {
      if case .file(let file) = request.body { await assets.remove(upload: file.path) }
      return refusal(error)
    }
    do {
      if let answer = try await faultOfUpload(claim, request.body) { return answer }
      let path = try await uploadedFile(request.body)
      let boundary: String?
      do {
        boundary = try MultipartFile.boundary(ofContentType: request.head.headers["Content-Type"])
      } catch {
        await assets.remove(upload: path)
        throw error
      }
      var digest: [UInt8]?
      if case .file(let file) = request.body { digest = file.digest }
      let receipt = try await accept(path, boundary: boundary, digest: digest, for: claim, now: now)
      return .json(receipt.encoded(), status: 200, uuid: uuid)
    } catch AssetFolderError.malformed(let reason) {
      return failure(.badRequest(reason), uuid: uuid)
    } catch AssetFolderError.full(let path) {
      return failure(serviceError(StoreError.full(path), uuid: uuid, during: "upload"), uuid: uuid)
    } catch {
      return failure(serviceError(error, uuid: uuid, during: "upload"), uuid: uuid)
    }
  }

  /// What a fault on purpose makes of an upload, if it makes an end of it.
  private func faultOfUpload(_ claim: UploadGrant, _ body: HTTPRequest.Body) async throws -> HTTPResponse? {
    guard faults.watches(claim.environment) else { return nil }
    var facts = FaultPlan.Facts(
      operation: FaultPlan.Operations.assetPut, container: claim.container, scope: .private)
    facts.user = claim.user
    facts.records = [claim.recordName]
    for fault in faults.meet(facts) {
      try await hold(fault.latency)
      switch fault.effect {
      case .error(let error, _):
        if case .file(let file) = body { await assets.remove(upload: file.path) }
        throw error
      case .cutBeforeCommit:
        if case .file(let file) = body { await assets.remove(upload: file.path) }
        return Self.brokenOff
      default: break
      }
    }
    return nil
  }

  private func uploadedFile(_ body: HTTPRequest.Body) async throws(AssetFolderError) -> String {
    switch body {
    case .file(let file): file.path
    case .bytes(let bytes): try await assets.write(upload: bytes, name: makeUUID())
    }
  }

  private func accept(
    _ path: String, boundary: String?, digest: [UInt8]?, for claim: UploadGrant, now: Timestamp
  ) async throws -> AssetReceipt {
    var admitted = claim
    admitted.expires = max(claim.expires, now)
    let random = configuration.makeRandom()
    let (checksum, result) = try await assets.gate.shared { [admitted] in
      let content = try await assets.settle(upload: path, boundary: boundary, digest: digest)
      let result: Result<AssetReceipt, any Error>
      do {
        let receipt = try await store.write { [service] transaction in
          var random = random
          return try service.acceptUpload(
            for: admitted, checksum: content.checksum, size: content.size, in: transaction, now: now, random: &random)
        }
        result = .success(receipt)
      } catch {
        result = .failure(error)
      }
      return (content.checksum, result)
    }
    if case .failure = result { await removeIfStray(checksum) }
    return try result.get()
  }

  /// Removes bytes that came to their place in vain. What cannot be done is left to the next start.
  private func removeIfStray(_ checksum: String) async {
    do { try await removeStrays(among: [checksum]) } catch {
      configuration.log("removing what an upload left: \(error)")
    }
  }

  /// The answer to a URL that does not count: 403 if it is not ours, 410 if it has expired.
  func refusal(_ objection: SignedURLs.Objection) -> HTTPResponse {
    switch objection {
    case .forged: return failure(ServiceError(.accessDenied, "this URL was not made by this server"))
    case .expired:
      var response = failure(ServiceError(.notFound, "this URL has expired: ask for a new one"))
      response.status = 410
      return response
    }
  }

  // MARK: Downloads

  /// Answers the bytes of an asset, or one range of them.
  func download(_ name: String, _ head: HTTPRequestHead) async -> HTTPResponse {
    let size: Int64
    do {
      size = try urls(for: head).size(ofDownload: name, QueryParameters(of: head), now: configuration.now())
    } catch {
      return refusal(error)
    }
    guard let digest = CanonicalBase64.decodeFromURL(name), let path = assets.path(ofChecksum: digest.base64),
      assets.holds(path, size: size)
    else { return failure(ServiceError(.notFound, "the bytes of this asset are gone")) }
    let tag = "\"\(Hex.encode(digest))\""
    var headers = HTTPHeaders([
      ("Content-Type", "application/octet-stream"), ("Accept-Ranges", "bytes"), ("ETag", tag),
      // What a cache keeps for a program says nothing of the pages that may read it.
      ("Cache-Control", "private, max-age=3600, immutable"), ("Vary", "Origin"),
      // What users stored is never a page of this server.
      ("X-Content-Type-Options", "nosniff"), ("Content-Security-Policy", "sandbox"),
    ])
    if Self.isNamed(tag, in: head.headers["If-None-Match"]) { return HTTPResponse(status: 304, headers: headers) }
    let isCurrent = head.headers["If-Range"].map { $0 == tag } ?? true
    switch isCurrent ? ByteRange(head.headers["Range"], size: size) : .whole {
    case .whole: return HTTPResponse(status: 200, headers: headers, body: .file(path: path, offset: 0, length: size))
    case .part(let range):
      headers.append("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)")
      return HTTPResponse(
        status: 206, headers: headers,
        body: .file(path: path, offset: range.lowerBound, length: range.upperBound - range.lowerBound))
    case .unsatisfiable:
      headers.append("Content-Range", "bytes */\(size)")
      return HTTPResponse(status: 416, headers: headers)
    }
  }
}

extension Gateway {
  /// Whether an `If-None-Match` field names what there is: by its tag, weak or not, or by `*` (RFC 9110, section 13.1.2).
  static func isNamed(_ tag: String, in field: String?) -> Bool {
    guard let field else { return false }
    let names = field.split(separator: ",").map { name in
      name.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
    }
    // The tags of assets hold neither commas nor spaces.
    return names.contains { $0 == "*" || $0 == tag || $0 == "W/\(tag)" }
  }
}
