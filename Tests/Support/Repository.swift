package import Foundation

/// The files of this repository that tests read: what the documents say is tried as it stands there.
package enum Repository {
  package static let root: URL = {
    var folder = URL(filePath: #filePath)
    while folder.path.count > 1, !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) {
      folder.deleteLastPathComponent()
    }
    return folder
  }()

  package static func text(of path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  /// The blocks of code in a language in a document.
  package static func blocks(_ language: String, in path: String) throws -> [String] {
    try text(of: path).components(separatedBy: "```\(language)\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
  }

  /// The first block of code in a language in a document.
  package static func block(_ language: String, in path: String) throws -> String? {
    try blocks(language, in: path).first
  }
}
