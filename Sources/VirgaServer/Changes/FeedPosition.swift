import VirgaModel
import VirgaWire

/// Where a reader of a feed goes on, once its token was found to belong to the feed.
struct FeedPosition {
  var position: Int64
  /// Deletions up to here are not told.
  var horizon: Int64

  /// - Parameters:
  ///   - text: The token; `nil` begins at the beginning.
  ///   - tokens: What it is sealed with.
  ///   - incarnation: The feed's; `nil` while nothing was written there. A reader of such a feed gets a token with the
  ///     incarnation 0, which later means the beginning.
  ///   - lowWaterMark: Tokens before it have expired, since deletions up to it were forgotten.
  /// - Throws: `changeTokenExpired` for any other token, because all a reader can do then is begin again.
  init(
    _ text: String?, tokens: TokenCipher? = nil, feed: ChangeToken.Feed, incarnation: UInt64?, sequence: Int64,
    lowWaterMark: Int64 = 0
  ) throws {
    (position, horizon) = (0, sequence)
    guard let text else { return }
    guard let token = tokens.token(text), token.feed == feed else { throw ServiceError.changeTokenExpired }
    if token.incarnation == 0 && token.position == 0 {
      // Whoever read when nothing was there may have written what was deleted since.
      horizon = 0
      return
    }
    guard let incarnation, token.incarnation == incarnation, token.position <= sequence,
      max(token.position, token.horizon) >= lowWaterMark
    else { throw ServiceError.changeTokenExpired }
    (position, horizon) = (token.position, token.horizon)
  }
}

/// How many entries a page may hold: what the request asks for, and never more than the client may have.
func pageLimit(_ requested: Int?, context: CallContext) throws -> Int {
  guard let requested, requested != 0 else { return context.recordsPerPageMax }
  guard requested > 0 else { throw ServiceError.badRequest("resultsLimit is negative") }
  return min(requested, context.recordsPerPageMax)
}
