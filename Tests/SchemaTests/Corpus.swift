import Foundation
import Testing

/// Schemas from public repositories, which lie beside this one.
enum Corpus {
  struct File: CustomTestStringConvertible, Sendable {
    var name: String
    var text: String
    var testDescription: String { name }
  }

  static let folder: URL? = {
    if let path = ProcessInfo.processInfo.environment["VIRGA_CORPUS"] { return URL(filePath: path) }
    var place = URL(filePath: #filePath)
    while place.path != "/" {
      place.deleteLastPathComponent()
      let found = place.appending(path: "shared/corpus")
      if FileManager.default.fileExists(atPath: found.path) { return found }
    }
    return nil
  }()

  /// All schemas; none where the corpus is missing.
  static let schemas: [File] = {
    guard let root = folder?.appending(path: "ckdb") else { return [] }
    let paths = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
    return paths.filter { $0.hasSuffix(".ckdb") }.sorted().compactMap { path in
      (try? String(contentsOf: root.appending(path: path), encoding: .utf8)).map { File(name: path, text: $0) }
    }
  }()

  static func text(_ name: String) -> String? { schemas.first { $0.name == name }?.text }
}
