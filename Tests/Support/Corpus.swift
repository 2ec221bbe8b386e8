package import Foundation

/// Files that nobody here wrote, which lie beside the repository: recorded messages of other clients and of Apple's service,
/// and an archive of Apple's CloudKit.
package enum Corpus {
  package struct Missing: Error {}

  /// The folder `webservices` of the corpus; `nil` where there is none.
  package static let webServices: URL? = folder("webservices")
  package static let archives: URL? = folder("archives")

  private static func folder(_ name: String) -> URL? {
    var candidates: [URL] = []
    if let path = ProcessInfo.processInfo.environment["VIRGA_CORPUS"] { candidates.append(URL(filePath: path)) }
    var folder = URL(filePath: #filePath)
    while folder.path.count > 1 {
      folder.deleteLastPathComponent()
      candidates.append(folder.appending(path: "shared/corpus"))
    }
    return candidates.map { $0.appending(path: name) }.first { FileManager.default.fileExists(atPath: $0.path) }
  }

  package static func bytes(_ path: String) throws -> [UInt8] {
    guard let webServices else { throw Missing() }
    return Array(try Data(contentsOf: webServices.appending(path: path)))
  }
}
