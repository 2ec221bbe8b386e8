import Foundation

/// Fetches a token with which a web page can act for the user in the database's container.
open class CKFetchWebAuthTokenOperation: CKDatabaseOperation, @unchecked Sendable {
  // Unchecked as its superclass is.

  /// The web page's own token for the container.
  open var apiToken: String?

  /// Called once, at the end, with a web token for the user or the error.
  open var fetchWebAuthTokenResultBlock: ((Result<String, any Error>) -> Void)?
  /// The older form of `fetchWebAuthTokenResultBlock`, not called where that is set.
  open var fetchWebAuthTokenCompletionBlock: ((String?, (any Error)?) -> Void)?

  public override init() { super.init() }

  /// Makes an operation that asks for a web token.
  /// - Parameter APIToken: The API token of the web app.
  public convenience init(apiToken APIToken: String) {
    self.init()
    apiToken = APIToken
  }

  override func run() async {
    let result: Result<String, any Error>
    do {
      let database = try target()
      guard let apiToken, !apiToken.isEmpty else {
        throw CKError(.invalidArguments, "A token for a web page needs the page's API token.")
      }
      result = .success(try await database.service.webAuthToken(for: database.container, pageToken: apiToken))
    } catch {
      result = .failure(error)
    }
    await callBack {
      if let fetchWebAuthTokenResultBlock = self.fetchWebAuthTokenResultBlock {
        fetchWebAuthTokenResultBlock(result)
      } else {
        self.fetchWebAuthTokenCompletionBlock?(try? result.get(), result.error)
      }
    }
  }
}
