import VirgaModel

/// What to do with a type tag that this version does not know.
enum UnknownTags: Sendable {
  /// A server stores only what it understands.
  case refused
  /// A client gives back what it was given.
  case carried
}
