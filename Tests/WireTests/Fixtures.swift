import Foundation
import Testing

/// Golden files. `VIRGA_REWRITE_FIXTURES=1 swift test` writes them anew; read the difference before committing it.
enum Fixture {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

  static func expect(
    _ bytes: [UInt8], equals name: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let file = folder.appending(path: name)
    if ProcessInfo.processInfo.environment["VIRGA_REWRITE_FIXTURES"] == "1" {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try Data(bytes + [0x0a]).write(to: file)
    }
    let golden = try String(decoding: Data(contentsOf: file), as: UTF8.self)
    #expect(String(decoding: bytes, as: UTF8.self) + "\n" == golden, sourceLocation: sourceLocation)
  }

  static func bytes(of name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: folder.appending(path: name)).dropLast())
  }
}

/// Recorded messages of other clients and of Apple's service, which lie beside the repository.
enum Corpus {
  /// The folder `webservices` of the corpus; `nil` where there is none.
  static let webServices: URL? = {
    var candidates: [URL] = []
    if let path = ProcessInfo.processInfo.environment["VIRGA_CORPUS"] { candidates.append(URL(filePath: path)) }
    var folder = URL(filePath: #filePath)
    while folder.path.count > 1 {
      folder.deleteLastPathComponent()
      candidates.append(folder.appending(path: "shared/corpus"))
    }
    return candidates.map { $0.appending(path: "webservices") }.first {
      FileManager.default.fileExists(atPath: $0.path)
    }
  }()

  static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: try #require(webServices).appending(path: path)))
  }
}
