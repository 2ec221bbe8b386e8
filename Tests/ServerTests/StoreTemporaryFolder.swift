import FoundationEssentials

/// A folder that goes with its last reference.
final class TemporaryFolder: Sendable {
  let path: String

  init() {
    path = FileManager.default.temporaryDirectory.appending(path: "virga-test-\(UUID().uuidString)").path
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      fatalError("no folder at \(path): \(error)")
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: String) {
    if !FileManager.default.createFile(atPath: path + "/" + name, contents: Data(text.utf8)) {
      fatalError("cannot write \(name)")
    }
  }
}
