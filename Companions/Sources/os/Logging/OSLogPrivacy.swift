import Foundation

/// Whether a value of a message may be read by others.
///
/// What is private reads as `<private>`, or with `.hash` as a short digest that is equal for equal values of one run.
/// `VIRGA_LOG_PRIVATE=show` writes private values out; sensitive ones never are.
public struct OSLogPrivacy: Equatable, Sendable {
  public enum Mask: Equatable, Sendable {
    case none
    case hash
  }

  private enum Kind { case automatic, `public`, `private`, sensitive }

  private var kind: Kind
  private var mask = Mask.none

  /// Numbers are public; text and objects are private.
  public static var auto: OSLogPrivacy { OSLogPrivacy(kind: .automatic) }
  public static var `public`: OSLogPrivacy { OSLogPrivacy(kind: .public) }
  public static var `private`: OSLogPrivacy { OSLogPrivacy(kind: .private) }
  public static var sensitive: OSLogPrivacy { OSLogPrivacy(kind: .sensitive) }

  public static func auto(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(kind: .automatic, mask: mask) }
  public static func `private`(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(kind: .private, mask: mask) }
  public static func sensitive(mask: Mask) -> OSLogPrivacy { OSLogPrivacy(kind: .sensitive, mask: mask) }

  /// The value as it may be written.
  func written(_ value: String, isPublicByNature: Bool, showsPrivate: Bool) -> String {
    switch kind {
    case .public: return value
    case .automatic where isPublicByNature && mask == .none: return value
    case .automatic, .private: if showsPrivate { return value }
    case .sensitive: break
    }
    return mask == .hash ? "<mask.hash: \(Self.digest(value))>" : "<private>"
  }

  /// `Hasher` has a seed of its own in each run, so digests of two runs cannot be compared, nor made from a list of guesses.
  private static func digest(_ value: String) -> String {
    var hasher = Hasher()
    hasher.combine(value)
    return String(UInt(bitPattern: hasher.finalize()), radix: 16)
  }
}
