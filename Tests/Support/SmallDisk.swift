import Glibc

/// A small disk in memory, for tests that fill it; it needs the right to mount.
package final class SmallDisk: Sendable {
  package let path: String

  package convenience init?(megabytes: Int) { self.init(kilobytes: megabytes << 10) }

  package init?(kilobytes: Int) {
    var name = Array("/tmp/virga-disk-XXXXXX".utf8CString)
    guard mkdtemp(&name) != nil else { return nil }
    path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    guard mount("tmpfs", path, "tmpfs", 0, "size=\(kilobytes)k") == 0 else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, Int32(MNT_DETACH))
    rmdir(path)
  }

  package static let isAvailable = SmallDisk(megabytes: 1) != nil

  /// Takes all the space that is left.
  package func fill() {
    let file = open(path + "/ballast", O_RDWR | O_CREAT, 0o600)
    let block = [UInt8](repeating: 1, count: 4_096)
    while write(file, block, block.count) == block.count {}
    close(file)
  }

  package func makeRoom() { unlink(path + "/ballast") }
}
