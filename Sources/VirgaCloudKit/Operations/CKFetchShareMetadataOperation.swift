public import Foundation

/// Asks what is shared at addresses.
open class CKFetchShareMetadataOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The addresses of shares.
  open var shareURLs: [URL]?
  /// Whether metadata comes with the root record; zones' shares have none.
  open var shouldFetchRootRecord = false
  /// The root record's fields wanted: nil for all, none with an empty array.
  open var rootRecordDesiredKeys: [CKRecord.FieldKey]?

  /// Called once for each address.
  open var perShareMetadataResultBlock: ((URL, Result<CKShare.Metadata, any Error>) -> Void)?
  /// Fails only if nothing was tried.
  open var fetchShareMetadataResultBlock: ((Result<Void, any Error>) -> Void)?
  /// The older form of `perShareMetadataResultBlock`, not called where that is set.
  open var perShareMetadataBlock: ((URL, CKShare.Metadata?, (any Error)?) -> Void)?
  /// The older form of `fetchShareMetadataResultBlock`, not called where that is set. Failures of single addresses come
  /// as one `partialFailure`.
  open var fetchShareMetadataCompletionBlock: (((any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that fetches what these addresses share.
  public convenience init(shareURLs: [URL]) {
    self.init()
    self.shareURLs = shareURLs
  }

  override func run() async {
    let urls = shareURLs ?? []
    let rootRecord: CKContainer.RootRecord =
      shouldFetchRootRecord ? .fetched(keys: rootRecordDesiredKeys) : .leftOut
    let results = await ItemResults(urls) {
      try await targetContainer().shareMetadatas(for: urls, rootRecord: rootRecord)
    }
    await callBack { self.tell(results) }
  }

  private func tell(_ results: ItemResults<URL, CKShare.Metadata>) {
    for (url, result) in results.items {
      if let perShareMetadataResultBlock {
        perShareMetadataResultBlock(url, result)
      } else {
        perShareMetadataBlock?(url, try? result.get(), result.error)
      }
    }
    if let fetchShareMetadataResultBlock {
      fetchShareMetadataResultBlock(results.whole)
    } else {
      fetchShareMetadataCompletionBlock?(results.olderError)
    }
  }
}
