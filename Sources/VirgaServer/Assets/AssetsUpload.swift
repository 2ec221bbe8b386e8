package import VirgaModel
package import VirgaWire

extension Service {
  func makeUploadTokens(
    _ request: AssetsUploadRequest, in transaction: any ReadTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    let user = try context.principal.requiredUser()
    try Limits.check(request.items.count, atMost: Limits.uploadTokensPerRequestMax, "upload tokens in one request")
    let zone = try access.openZone(request.zone, in: transaction)
    if let reach = zone.reach, !reach.allowsWriting { throw ServiceError(.accessDenied, Reason.writeNotPermitted) }
    var tokens: [AssetUploadToken] = []
    for item in request.items {
      let name = item.recordName ?? RecordName(context.makeUUID())
      try check(item, name: name)
      var claim = UploadGrant(
        container: context.endpoint.container, environment: context.endpoint.environment, user: user, recordName: name,
        fieldName: item.fieldName, expires: context.now + Limits.uploadURLAge)
      claim.scope = access.scope
      let url = context.urls.uploadURL(for: claim)
      tokens.append(AssetUploadToken(recordName: name, fieldName: item.fieldName, url: url))
    }
    return .uploadTokens(tokens)
  }

  private func check(_ item: AssetsUploadRequest.Item, name: RecordName) throws {
    let objection =
      NameRule.name.objection(to: name.rawValue).map { "record name \($0)" }
      ?? NameRule.recordType.objection(to: item.recordType.rawValue).map { "record type \($0)" }
      ?? NameRule.fieldName.objection(to: item.fieldName.rawValue).map { "field name \($0)" }
    if let objection { throw ServiceError.badRequest(objection) }
  }

  /// Notes that the bytes of an upload lie in their place, and makes the receipt that a record needs to claim them.
  ///
  /// The caller has checked the signature of the claim, hashed the bytes and made them durable.
  /// - Parameter checksum: The standard Base64 of the SHA-256 of the bytes.
  /// - Throws: `badRequest` when the upload URL has expired or the bytes are too many, `quotaExceeded` when the user has
  ///   uploaded more that no record claims than a database may hold.
  package func acceptUpload(
    for claim: UploadGrant, checksum: String, size: Int64, in transaction: any WriteTransaction, now: Timestamp,
    random: inout some RandomNumberGenerator
  ) throws -> AssetReceipt {
    if claim.expires < now { throw ServiceError.badRequest("the upload URL has expired") }
    try Limits.check(Int(size), atMost: Limits.assetBytesMax, "bytes of an asset")
    let receipt = AssetReceiptRecord(
      key: RandomText.secret(using: &random), claim: claim, checksum: checksum, size: size,
      expires: now + Limits.receiptAge)
    let upload = UnreferencedUpload(checksum: checksum, size: size, scope: claim.scope, expires: receipt.expires)
    try quotas.admit(upload, for: claim, in: transaction, now: now)
    try transaction.put(AssetRow(checksum: checksum, size: size, uploaded: now))
    try transaction.put(receipt.entity)
    // Apple's service wraps each file's key; here the files are not encrypted one by one, and the key says nothing.
    let wrappingKey = [UInt8](repeating: 0, count: 16).base64
    return AssetReceipt(
      fileChecksum: checksum, size: size, receipt: receipt.key, wrappingKey: wrappingKey, referenceChecksum: checksum)
  }
}
