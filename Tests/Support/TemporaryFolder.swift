import Foundation

/// A folder that goes with its last reference.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init() {
    path = FileManager.default.temporaryDirectory.appending(path: "virga-test-\(UUID().uuidString)").path
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      fatalError("no folder at \(path): \(error)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package func write(_ text: String, to name: String) {
    if !FileManager.default.createFile(atPath: path + "/" + name, contents: Data(text.utf8)) {
      fatalError("cannot write \(name)")
    }
  }
}
