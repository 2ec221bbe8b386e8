/// What of a request decides how its answer is written.
struct AnswerContext {
  var isHead: Bool
  var isVersion10: Bool
  var keepsAlive: Bool

  static let refused = AnswerContext(isHead: false, isVersion10: false, keepsAlive: false)
}
