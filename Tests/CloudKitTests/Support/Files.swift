import Foundation

/// A folder of one test, removed with it.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "virga-" + UUID().uuidString
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  deinit {
    // A folder that stays behind harms nobody.
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String, _ bytes: [UInt8] = []) throws -> URL {
    let url = URL(fileURLWithPath: path).appendingPathComponent(name)
    try Data(bytes).write(to: url)
    return url
  }

  /// A file of that size whose bytes differ from block to block, written in pieces.
  func file(_ name: String, size: Int, seed: UInt8 = 1) throws -> URL {
    let url = try file(name)
    let handle = try FileHandle(forWritingTo: url)
    let block = 1 << 20
    for start in stride(from: 0, to: size, by: block) {
      let count = min(block, size - start)
      try handle.write(contentsOf: Data(repeating: seed &+ UInt8(truncatingIfNeeded: start / block), count: count))
    }
    try handle.close()
    return url
  }
}

/// The memory that this process holds, in bytes.
func residentBytes() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
  return (Int(status.split(separator: " ")[1]) ?? 0) * 4_096
}
