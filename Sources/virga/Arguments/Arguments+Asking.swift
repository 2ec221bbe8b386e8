import VirgaCommandLine

extension CommandSpec.Option {
  /// Answers what a command asks before it does what cannot be undone.
  static let yes = CommandSpec.Option(name: "--yes", value: nil, help: "Do it without asking.")
}

extension Arguments {
  /// Asks before something that cannot be undone, unless `--yes` was given.
  /// - Parameter refusal: What is said if the answer is no: what did not happen.
  func confirm(_ question: String, _ refusal: String) throws(Failure) {
    guard has("--yes") || Terminal.confirm(question) else {
      throw Failure(.failed, "\(refusal); to answer yes, add --yes")
    }
  }

  /// The one of some identifiers that begins so.
  /// - Parameters:
  ///   - what: What they are of: `device`.
  ///   - listing: The command that lists them.
  func identifier(
    _ beginning: String, among identifiers: [String], of what: String, listing: String
  ) throws(Failure) -> String {
    if identifiers.contains(beginning) { return beginning }
    let found = identifiers.filter { $0.hasPrefix(beginning) }
    switch found.count {
    case 1: return found[0]
    case 0: throw Failure(.failed, "there is no \(what) \(beginning) (see \(listing))")
    default:
      let shown = found.prefix(5).joined(separator: ", ")
      throw Failure(.failed, "\(found.count) \(what)s begin with '\(beginning)': \(shown)")
    }
  }
}
