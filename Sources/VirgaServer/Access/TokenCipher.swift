import VirgaModel
import VirgaWire

/// Keeps from a caller what stands in the tokens that they carry for the server, and lets nobody make or change one.
///
/// A position in a zone of somebody else tells how much happens there to records that the caller may not see, and where
/// a query stopped may be such a record.
struct TokenCipher {
  private let cipher: any FieldCipher
  private let place: [UInt8]
  private let scope: DatabaseScope

  /// - Returns: `nil` where tokens are plain.
  init?(_ context: CallContext) {
    guard let cipher = context.tokenCipher else { return nil }
    self.cipher = cipher
    let endpoint = context.endpoint
    scope = endpoint.scope
    // A tag is the same in the answer to an acceptance, which is the public database's, and in the shared one.
    place = Self.joined([
      endpoint.container.rawValue, endpoint.environment.rawValue, context.principal.user?.rawValue ?? "",
    ])
  }

  /// Parts with their lengths, so that no two lists give the same bytes.
  static func joined(_ parts: [String]) -> [UInt8] { parts.flatMap { Array("\($0.utf8.count):\($0)".utf8) } }

  /// - Parameter purpose: What they are good for, and nothing else.
  private func seal(_ bytes: [UInt8], for purpose: [UInt8]) -> [UInt8] { cipher.seal(bytes, for: place + purpose) }

  /// - Returns: `nil` for what was not sealed for this caller and purpose.
  private func open(_ sealed: [UInt8], for purpose: [UInt8]) -> [UInt8]? { cipher.open(sealed, for: place + purpose) }

  // MARK: Continuation markers

  private func markerPurpose(_ query: [UInt8]) -> [UInt8] {
    Self.joined(["continuation marker", scope.pathName]) + query
  }

  /// - Parameter query: All that decides what the query finds.
  func seal(marker bytes: [UInt8], of query: [UInt8]) -> [UInt8] { seal(bytes, for: markerPurpose(query)) }
  func open(marker bytes: [UInt8], of query: [UInt8]) -> [UInt8]? { open(bytes, for: markerPurpose(query)) }

  // MARK: Change tokens

  private static let tokenPurpose = joined(["change token"])

  func text(of token: ChangeToken) -> String { seal(token.bytes, for: Self.tokenPurpose).base64 }

  func token(_ text: String) -> ChangeToken? {
    [UInt8](base64: text).flatMap { open($0, for: Self.tokenPurpose) }.flatMap { ChangeToken(bytes: $0) }
  }

  // MARK: Change tags

  private func tagPurpose(_ record: RecordID) -> [UInt8] {
    Self.joined(["change tag", record.zone.owner.rawValue, record.zone.name.rawValue, record.name.rawValue])
  }

  func tag(_ sequence: Int64, of record: RecordID) -> ChangeTag {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: sequence >> ($0 * 8)) }
    return ChangeTag(rawValue: seal(bytes, for: tagPurpose(record)).base64)
  }

  /// The tag as the owner knows it. What the caller was never given is the tag of nothing.
  func plain(_ tag: ChangeTag, of record: RecordID) -> ChangeTag {
    let nothing = ChangeTag(rawValue: "")
    guard let sealed = [UInt8](base64: tag.rawValue), let bytes = open(sealed, for: tagPurpose(record)) else {
      return nothing
    }
    return ChangeTag(sequence: bytes.reversed().reduce(0) { $0 << 8 | Int64($1) })
  }
}

extension TokenCipher? {
  func text(of token: ChangeToken) -> String { self?.text(of: token) ?? token.text }
  func token(_ text: String) -> ChangeToken? {
    guard let self else { return ChangeToken(text: text) }
    return self.token(text)
  }
}
