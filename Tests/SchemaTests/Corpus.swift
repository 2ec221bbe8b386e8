import Foundation
import Testing
import TestSupport

/// Schemas that tests read: our own, and those of public repositories where they lie beside this one.
enum Corpus {
  struct File: CustomTestStringConvertible, Sendable {
    var name: String
    var text: String
    var testDescription: String { name }
  }

  /// The folder of the others.
  private static let folder: URL? = {
    if let path = ProcessInfo.processInfo.environment["VIRGA_CORPUS"] { return URL(filePath: path) }
    var place = URL(filePath: #filePath)
    while place.path != "/" {
      place.deleteLastPathComponent()
      let found = place.appending(path: "shared/corpus")
      if FileManager.default.fileExists(atPath: found.path) { return found }
    }
    return nil
  }()

  static let own = files(below: Repository.root.appending(path: "Tests/SchemaTests/Fixtures"), prefix: "own/")
  private static let others = folder.map { files(below: $0.appending(path: "ckdb"), prefix: "") } ?? []

  /// All schemas, ours first.
  static var schemas: [File] { own + others }

  private static func files(below root: URL, prefix: String) -> [File] {
    let paths = FileManager.default.enumerator(atPath: root.path)?.allObjects as? [String] ?? []
    return paths.filter { $0.hasSuffix(".ckdb") }.sorted().compactMap { path in
      (try? String(contentsOf: root.appending(path: path), encoding: .utf8)).map { File(name: prefix + path, text: $0) }
    }
  }

  static func text(_ name: String) -> String? { schemas.first { $0.name == name }?.text }

  /// Cases on our own files, and those on the others if they are here.
  static func cases<Case>(own: [Case], others cases: [Case]) -> [Case] { others.isEmpty ? own : own + cases }
}
