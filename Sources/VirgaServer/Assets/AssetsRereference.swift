import VirgaModel
import VirgaWire

extension Service {
  /// Gives receipts for assets that records hold, which other records may then claim. A single entry that does not hold
  /// one fails the whole, as observed of the service.
  func rereferenceAssets(
    _ request: AssetsRereferenceRequest, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> Reply {
    let access = try Access(context)
    let user = try context.principal.requiredUser()
    try Limits.check(request.items.count, atMost: Limits.uploadTokensPerRequestMax, "assets in one request")
    let zone = try access.openZone(request.zone, in: transaction)
    let seal = zone.seal(context)
    let found = try request.items.map { item in
      guard let record = try zone.visibleRecord(item.recordName, in: transaction) else {
        throw ServiceError.badRequest("record '\(item.recordName)' was not found")
      }
      try zone.checkReading(of: record)
      guard case .asset(let asset) = try seal.fields(of: record)[item.fieldName]?.value,
        let row = try transaction.asset(asset.fileChecksum)
      else {
        throw ServiceError.badRequest("field '\(item.fieldName)' of record '\(item.recordName)' holds no asset")
      }
      return (asset: asset, row: row)
    }
    let claim = UploadGrant(
      container: context.endpoint.container, environment: context.endpoint.environment, user: user, recordName: "",
      fieldName: "", expires: context.now)
    let expires = context.now + Limits.receiptAge
    var assets: [AssetValue] = []
    for (asset, var row) in found {
      let receipt = AssetReceiptRecord(
        key: context.makeSecret(), claim: claim, checksum: asset.fileChecksum, size: asset.size, expires: expires)
      try transaction.put(receipt.entity)
      // The bytes outlive the record for a while, as those of an upload wait for theirs.
      row.uploaded = context.now
      try transaction.put(row)
      var answer = asset
      answer.receipt = receipt.key
      assets.append(answer)
    }
    return .assets(assets)
  }
}
