public import Foundation

extension URL {
  /// The URL with the type's extension added, unless it has an extension of that type.
  public func appendingPathExtension(for contentType: UTType) -> URL {
    guard let suffix = contentType.preferredFilenameExtension else { return self }
    if UTType(filenameExtension: pathExtension)?.conforms(to: contentType) == true { return self }
    return appendingPathExtension(suffix)
  }

  /// A file's name below this folder, with the type's extension unless the name has one of that type.
  public func appendingPathComponent(_ partialName: String, conformingTo contentType: UTType) -> URL {
    appendingPathComponent(partialName).appendingPathExtension(for: contentType)
  }

  public mutating func appendPathExtension(for contentType: UTType) { self = appendingPathExtension(for: contentType) }
}

@available(*, unavailable, message: "Linux has no registry of file types; use UTType(filenameExtension:)")
extension URLResourceValues {
  public var contentType: UTType? { fatalError() }
}
