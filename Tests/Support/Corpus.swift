package import Foundation

/// Files that tests read. Our own are in the repository. Beside it may lie those that nobody here wrote: recorded messages
/// of other clients and of Apple's service, and an archive of Apple's CloudKit. Each test runs on ours, and on the others
/// where they are.
package enum Corpus {
  package struct Missing: Error {}

  /// Our own messages.
  private static let messages = Repository.root.appending(path: "Tests/Support/Messages")
  private static let ownPrefix = "own/"

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

  /// What a test is run on: our own cases, and the others if their files are there.
  package static func cases<Case>(own: [Case], recorded: [Case]) -> [Case] {
    webServices == nil ? own : own + recorded
  }

  /// - Parameter path: Below the recorded messages; behind `own/`, below our own.
  package static func bytes(_ path: String) throws -> [UInt8] {
    if path.hasPrefix(ownPrefix) {
      return Array(try Data(contentsOf: messages.appending(path: path.dropFirst(ownPrefix.count))))
    }
    guard let webServices else { throw Missing() }
    return Array(try Data(contentsOf: webServices.appending(path: path)))
  }
}
