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

/// The most memory that this process has held since it was made, as growth over what it held then.
struct MemoryWatch {
  private let before: Int

  /// Starts watching: the kernel forgets the peak so far.
  init() throws {
    try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
    before = try Self.bytes("VmRSS:")
  }

  func peakGrowthBytes() throws -> Int { try Self.bytes("VmHWM:") - before }

  private static func bytes(_ name: String) throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
    return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1_024
  }
}
