public import Foundation

/// Where a reader of a change feed stopped. Opaque: keep it archived, hand it back, and never look inside.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// As the service wrote it.
  package let text: String

  package init(_ text: String) { self.text = text }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    guard let text = coder.archived(String.self) else { return nil }
    self.text = text
  }
  public func encode(with coder: NSCoder) { coder.archive(text) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.text == text }
  public override var hash: Int { text.hashValue }
  public override var description: String { "<CKServerChangeToken \(text)>" }
}
