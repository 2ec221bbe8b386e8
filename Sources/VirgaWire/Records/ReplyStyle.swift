import VirgaModel

/// How an answer is to be written.
struct ReplyStyle: Sendable {
  /// Whether the client asked for our extensions.
  var extensions: Bool
  /// The request's identifier, which errors of single items repeat.
  var uuid: String
  /// Whose zones are meant that a request names without their owner.
  var owner: UserName
}
