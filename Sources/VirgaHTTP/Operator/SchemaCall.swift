import FoundationEssentials
import VirgaModel
import VirgaSchema
import VirgaServer
import VirgaWire

/// A call under `/virga/1/schema/`; each takes `container` in its query.
enum SchemaCall: String, Hashable, Sendable, CaseIterable {
  /// Answers the text of a schema; takes `environment` too.
  case export
  /// Makes the text in the body development's schema.
  case `import`
  /// Judges the text in the body as an import would.
  case validate
  /// Compares development with production.
  case diff
  case deploy
  case reset

  static let prefix = AccountRoutes.prefix + "schema/"

  var method: String {
    switch self {
    case .export, .diff: "GET"
    case .import, .validate, .deploy, .reset: "POST"
    }
  }
}
