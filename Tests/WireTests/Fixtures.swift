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
