import Foundation

/// Joins shares.
open class CKAcceptSharesOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The shares to accept, as `CKFetchShareMetadataOperation` brought them.
  open var shareMetadatas: [CKShare.Metadata]?

  /// Called once for each share.
  open var perShareResultBlock: ((CKShare.Metadata, Result<CKShare, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var acceptSharesResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perShareResultBlock`, not called where that is set.
  open var perShareCompletionBlock: ((CKShare.Metadata, CKShare?, (any Error)?) -> Void)?
  /// The older form of `acceptSharesResultBlock`, not called where that is set. Failures of single shares come as one
  /// `partialFailure`, by their addresses.
  open var acceptSharesCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that accepts these shares.
  public convenience init(shareMetadatas: [CKShare.Metadata]) {
    self.init()
    self.shareMetadatas = shareMetadatas
  }

  override func run() async {
    let metadatas = shareMetadatas ?? []
    let results = await ItemResults(metadatas) { try await targetContainer().accept(metadatas) }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<CKShare.Metadata, CKShare>) {
    var errors: [AnyHashable: any Error] = [:]
    for (metadata, result) in results.items {
      if let error = result.error {
        errors[metadata.share.url.map { AnyHashable($0) } ?? AnyHashable(metadata)] = error
      }
      if let perShareResultBlock {
        perShareResultBlock(metadata, result)
      } else {
        perShareCompletionBlock?(metadata, try? result.get(), result.error)
      }
    }
    if let acceptSharesResultBlock {
      acceptSharesResultBlock(results.whole)
    } else {
      acceptSharesCompletionBlock?(CKError.older(results.whole, errors))
    }
  }
}
