public import Foundation

/// Where a reader of a change feed stopped. Opaque: keep it archived, hand it back, and never look inside.
public final class CKServerChangeToken: NSObject, NSSecureCoding, NSCopying, Sendable {
  /// As the service wrote it.
  package let text: String

  package init(_ text: String) { self.text = text }

  public static var supportsSecureCoding: Bool { true }
  public init?(coder: NSCoder) {
    if let text = coder.archived(String.self) {
      self.text = text
    } else if let data = coder.appleObject(NSData.self, "ChangeTokenData") {
      // One of Apple's service: to any other it has expired, and the reader starts again.
      text = Data(referencing: data).base64EncodedString()
    } else {
      return nil
    }
  }
  public func encode(with coder: NSCoder) { coder.archive(text) }

  public func copy(with zone: NSZone? = nil) -> Any { self }
  public override func isEqual(_ object: Any?) -> Bool { (object as? CKServerChangeToken)?.text == text }
  public override var hash: Int { text.hashValue }
  public override var description: String { "<CKServerChangeToken \(text)>" }
}
