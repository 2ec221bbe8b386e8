import Foundation
import Synchronization

/// The type of a file's content, named by a uniform type identifier, as far as files of assets need it.
///
/// A table of types that apps meet says what conforms to what, and which extension and MIME type each has. An extension or MIME type
/// that the table does not know gives a *dynamic* type, as on Apple's systems: its identifier holds the tag, and it conforms to what was
/// asked for (`data` unless told otherwise). There is no registry of the system's or of other apps' types: an app's own are known from
/// the moment on in which it first says `UTType(exportedAs:)` or `UTType(importedAs:)`.
public struct UTType: Sendable {
  /// For example `public.jpeg`.
  public let identifier: String

  private let declaration: Declaration

  /// Known types only; `nil` for any other identifier that is not a dynamic type made here.
  public init?(_ identifier: String) {
    if let known = Self.declaration(of: identifier) {
      self.init(known)
    } else if let dynamic = Declaration(dynamicIdentifier: identifier) {
      self.init(dynamic)
    } else {
      return nil
    }
  }

  /// The type of files with that extension, without a dot and whatever its case.
  public init?(filenameExtension: String, conformingTo supertype: UTType = .data) {
    self.init(tag: filenameExtension, tagClass: .filenameExtension, conformingTo: supertype)
  }

  /// Parameters as in `text/plain; charset=utf-8` do not count.
  public init?(mimeType: String, conformingTo supertype: UTType = .data) {
    let essence = mimeType.split(separator: ";").first.map { $0.trimmingCharacters(in: .whitespaces) } ?? ""
    self.init(tag: essence, tagClass: .mimeType, conformingTo: supertype)
  }

  public init?(tag: String, tagClass: UTTagClass, conformingTo supertype: UTType?) {
    guard let first = Self.types(tag: tag, tagClass: tagClass, conformingTo: supertype).first else { return nil }
    self = first
  }

  /// All types with that tag, in the order of the table, or a dynamic one where the table has nothing.
  public static func types(tag: String, tagClass: UTTagClass, conformingTo supertype: UTType?) -> [UTType] {
    let wanted = tag.lowercased()
    guard !wanted.isEmpty, !wanted.contains("/") || tagClass == .mimeType else { return [] }
    let known = Declaration.table.filter { $0.tags(tagClass).contains(wanted) }.map { UTType($0) }
      .filter { supertype == nil || $0.conforms(to: supertype!) }
    if !known.isEmpty { return known }
    return [UTType(Declaration(dynamicTag: wanted, tagClass: tagClass, parent: (supertype ?? .data).identifier))]
  }

  /// A type of the app's own. Its identifier is all that is known of it here, beside the type that it is said to conform to.
  public init(exportedAs identifier: String, conformingTo parentType: UTType? = nil) {
    if Self.byIdentifier[identifier.lowercased()] == nil {
      let declaration = Declaration(ownIdentifier: identifier, parent: parentType?.identifier)
      Self.own.withLock { own in
        if parentType != nil || own[identifier.lowercased()] == nil { own[identifier.lowercased()] = declaration }
      }
    }
    self.init(Self.declaration(of: identifier) ?? Declaration(ownIdentifier: identifier, parent: nil))
  }

  public init(importedAs identifier: String, conformingTo parentType: UTType? = nil) {
    self.init(exportedAs: identifier, conformingTo: parentType)
  }

  init(_ declaration: Declaration) {
    self.declaration = declaration
    identifier = declaration.identifier
  }

  public var preferredFilenameExtension: String? { declaration.extensions.first }
  public var preferredMIMEType: String? { declaration.mimeTypes.first }
  public var isDynamic: Bool { identifier.hasPrefix("dyn.") }
  public var isDeclared: Bool { !isDynamic }
  public var isPublic: Bool { identifier.hasPrefix("public.") }

  /// The extensions and MIME types, the preferred ones first.
  public var tags: [UTTagClass: [String]] {
    var tags: [UTTagClass: [String]] = [:]
    if !declaration.extensions.isEmpty { tags[.filenameExtension] = declaration.extensions }
    if !declaration.mimeTypes.isEmpty { tags[.mimeType] = declaration.mimeTypes }
    return tags
  }

  /// The type's words for people, in English.
  public var localizedDescription: String? { declaration.name }
  public var description: String { identifier }

  /// All types that this one conforms to, itself not among them.
  public var supertypes: Set<UTType> {
    var found: Set<UTType> = []
    var waiting = declaration.parents
    while let parent = waiting.popLast() {
      guard let type = Self.declaration(of: parent).map(UTType.init), found.insert(type).inserted else { continue }
      waiting += type.declaration.parents
    }
    return found
  }

  /// Whether this is the type, or one below it.
  public func conforms(to type: UTType) -> Bool { self == type || supertypes.contains(type) }
  public func isSubtype(of type: UTType) -> Bool { self != type && conforms(to: type) }
  public func isSupertype(of type: UTType) -> Bool { type.isSubtype(of: self) }

  static func declaration(of identifier: String) -> Declaration? {
    let key = identifier.lowercased()
    return byIdentifier[key] ?? own.withLock { $0[key] }
  }

  /// What the app said of types of its own, by identifier in lower case.
  private static let own = Mutex<[String: Declaration]>([:])

  static let byIdentifier = Dictionary(uniqueKeysWithValues: Declaration.table.map { ($0.identifier, $0) })
}

extension UTType: Hashable, CustomStringConvertible {
  public static func == (left: UTType, right: UTType) -> Bool { left.identifier == right.identifier }
  public func hash(into hasher: inout Hasher) { hasher.combine(identifier) }
}

/// Coded as its identifier. One that is not known here comes back as a type of that name and nothing more.
extension UTType: Codable {
  public init(from decoder: any Decoder) throws {
    let identifier = try decoder.singleValueContainer().decode(String.self)
    self = UTType(identifier) ?? UTType(exportedAs: identifier)
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(identifier)
  }
}

/// The kinds of names that a type has outside of uniform type identifiers.
public struct UTTagClass: RawRepresentable, Hashable, Sendable {
  public let rawValue: String
  public init(rawValue: String) { self.rawValue = rawValue }

  public static let filenameExtension = UTTagClass(rawValue: "public.filename-extension")
  public static let mimeType = UTTagClass(rawValue: "public.mime-type")
}
