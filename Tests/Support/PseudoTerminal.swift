import Glibc

/// Both ends of a terminal: what a program writes to one is read at the other, as its screen.
package struct PseudoTerminal: Sendable {
  package struct Failure: Error {
    package var code: Int32
  }

  package let screen: Int32
  package let program: Int32
  /// Where a program opens its end.
  package let path: String

  package init(columns: UInt16) throws {
    // Linux's own numbers of TIOCSPTLCK and TIOCGPTN, which Swift does not import: unlocked, and told its number.
    let (unlock, tell) = (0x4004_5431 as UInt, 0x8004_5430 as UInt)
    screen = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    var (zero, number) = (0 as Int32, 0 as UInt32)
    guard screen >= 0, ioctl(screen, unlock, &zero) == 0, ioctl(screen, tell, &number) == 0 else {
      throw Failure(code: errno)
    }
    path = "/dev/pts/\(number)"
    program = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard program >= 0 else { throw Failure(code: errno) }
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(program, UInt(TIOCSWINSZ), &size)
    _ = fcntl(screen, F_SETFL, O_NONBLOCK)
  }

  /// What came to the screen since it was last asked.
  package func text() -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4_096)
    while case let count = read(screen, &buffer, buffer.count), count > 0 { bytes += buffer.prefix(count) }
    return String(decoding: bytes, as: UTF8.self)
  }

  package func close() {
    Glibc.close(program)
    Glibc.close(screen)
  }
}
