public import Foundation

/// Asks owners of shares to be let in. The protocol has no such request: every address fails with
/// `serverRejectedRequest`, and nothing is sent.
open class CKShareRequestAccessOperation: CKOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The addresses of shares.
  open var shareURLs: [URL]?

  /// Called once for each address.
  open var perShareAccessRequestResultBlock: ((URL, Result<Void, any Error>) -> Void)?
  /// Called once, at the end. Each address has failed by then: the protocol has no such request.
  open var shareAccessRequestResultBlock: ((Result<Void, any Error>) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that asks to be let in at these addresses.
  public convenience init(shareURLs: [URL]) {
    self.init()
    self.shareURLs = shareURLs
  }

  override func run() async {
    let urls = shareURLs ?? []
    let results = await ItemResults(urls) { try await targetContainer().requestShareAccess(for: urls) }
    await callBack {
      for (url, result) in results.items { self.perShareAccessRequestResultBlock?(url, result) }
      self.shareAccessRequestResultBlock?(results.whole)
    }
  }
}
