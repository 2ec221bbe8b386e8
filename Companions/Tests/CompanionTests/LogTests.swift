import Foundation
import Testing

@testable import os

@Suite struct LogMessageTests {
  private func text(_ message: OSLogMessage, showsPrivate: Bool = false) -> String {
    message.rendered(showsPrivate: showsPrivate)
  }

  @Test func textIsPrivateAndNumbersArePublic() {
    let name = "Ana"
    #expect(text("hello \(name), \(3) and \(2.5) and \(true)") == "hello <private>, 3 and 2.500000 and true")
    #expect(text("\(name, privacy: .public) \(42, privacy: .private)") == "Ana <private>")
    #expect(text("\(name) \(name, privacy: .sensitive)", showsPrivate: true) == "Ana <private>")
    #expect(text("\(NSNumber(value: 4)) \(CocoaError(.fileNoSuchFile)) \(Int.self)").hasSuffix("<private> Int"))
  }

  @Test func hashedValuesAreEqualForEqualValues() {
    let (first, again, other) = ("Ana", "Ana", "Eva")
    #expect(text("\(first, privacy: .private(mask: .hash))") == text("\(again, privacy: .private(mask: .hash))"))
    #expect(text("\(first, privacy: .private(mask: .hash))") != text("\(other, privacy: .private(mask: .hash))"))
    #expect(!text("\(first, privacy: .private(mask: .hash))").contains("Ana"))
  }

  @Test func formatsAreApples() {
    #expect(text("\(255, format: .hex(includePrefix: true, uppercase: true, minDigits: 4))") == "0x00FF")
    #expect(
      text(
        "\(8, format: .octal) \(-5, format: .decimal(minDigits: 3)) \(5, format: .decimal(explicitPositiveSign: true))")
        == "10 -005 +5")
    #expect(text("\(2.5, format: .fixed(precision: 1)) \(1500.0, format: .exponential(precision: 1))") == "2.5 1.5e+03")
    #expect(
      text("\(true, format: .answer)|\(7, align: .right(columns: 3))|\(7, align: .left(columns: 3))|") == "yes|  7|7  |"
    )
    #expect(text("\(Int32(2), format: .darwinErrno)") == "[2: No such file or directory]")
    #expect(text("\(UInt64.max) \(Int8.min) \(Int.min)") == "18446744073709551615 -128 -9223372036854775808")
  }

  @Test func valuesAreNotComputedForAMessageThatIsNotWritten() {
    final class Counter { var count = 0; func next() -> Int { count += 1; return count } }
    let counter = Counter()
    Logger(.disabled).error("\(counter.next())")
    #expect(counter.count == 0)
  }

  @Test(
    arguments: [
      ("%d of %ld", "3 of 4"), ("%{private}d", "<private>"), ("%5.2f|", " 2.50|"), ("%@", "<private>"),
      ("%{public}@", "Rain"), ("100 %%", "100 %"), ("%{darwin.errno}d", "[2: No such file or directory]"),
      ("%{bool}d", "true"), ("%{public, mask.hash}@", "Rain"), ("%d", "<missing>"), ("%", "%"),
      ("%{public", "%{public"),
    ] as [(String, String)])
  func formatsOfPrintfAreRead(format: String, expected: String) {
    let arguments: [any CVarArg] =
      switch format {
      case "%d of %ld": [3, 4]
      case "%5.2f|": [2.5]
      case "%{darwin.errno}d": [Int32(2)]
      case "%{bool}d", "%{private}d": [1]
      case "%@", "%{public}@", "%{public, mask.hash}@": ["Rain" as NSString]
      default: []
      }
    #expect(LogFormat.text(format, arguments, showsPrivate: false) == expected)
  }
}

@Suite struct LogLevelTests {
  private static let everything = OSLogType(rawValue: 0x11)

  @Test func theMostSpecificLevelCounts() throws {
    let levels = try LogLevels("error, com.example=debug,com.example:sync=none")
    #expect(!levels.includes(.default, subsystem: "other", category: ""))
    #expect(levels.includes(.error, subsystem: "other", category: ""))
    #expect(levels.includes(.debug, subsystem: "com.example", category: "ui"))
    #expect(!levels.includes(.fault, subsystem: "com.example", category: "sync"))
    #expect(LogLevels().includes(.default, subsystem: "", category: ""))
    #expect(!LogLevels().includes(.info, subsystem: "", category: ""))
  }

  @Test(arguments: ["loud", "com.example=", "=", "info,loud"]) func whatIsNoLevelIsNamed(text: String) {
    #expect(throws: LogLevels.UnknownLevel.self) { try LogLevels(text) }
  }
}

/// A program in an app's manner, compiled from a source that knows nothing of Linux, and what it writes.
@Suite struct LogOutputTests {
  private func run(_ environment: [String: String]) throws -> (output: String, lines: [String]) {
    let process = Process()
    process.executableURL = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("log-lines")
    process.environment = environment
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let lines = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return (
      String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self),
      lines.split(separator: "\n").map {
        String($0).replacing(#/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\S* /#, with: "")
      }
    )
  }

  @Test func noticesErrorsAndFaultsAreWritten() throws {
    let (output, lines) = try run([:])
    #expect(output == "public.jpeg 47.5\n")
    #expect(
      lines == [
        "default [com.example.notes:sync] notice <private> Rain at 1",
        "error [com.example.notes:sync] error 004",
        "fault [com.example.notes:sync] fault <private>",
        "error [com.example.notes:legacy] legacy open <private> 7 2.5 %",
        "default default log",
        "default [com.example.notes:sync] two",
        "  | lines",
      ])
  }

  @Test func theEnvironmentChoosesTheLevel() throws {
    let debug = try run(["VIRGA_LOG_LEVEL": "debug", "VIRGA_LOG_PRIVATE": "show"]).lines
    #expect(debug.first == "debug [com.example.notes:sync] debug 1")
    #expect(debug.contains("info [com.example.notes:sync] info Rain at 1"))
    #expect(debug.contains("fault [com.example.notes:sync] fault <private>"))
    #expect(debug.contains("debug [com.example.notes:sync] signpost begin fetch"))
    #expect(debug.contains("debug [com.example.notes:legacy] signpost event page: 3"))
    #expect(debug.contains { $0.hasPrefix("debug [com.example.notes:sync] signpost end fetch: took ") })
    #expect(try run(["VIRGA_LOG_LEVEL": "none"]).lines.isEmpty)
    #expect(try run(["VIRGA_LOG_LEVEL": "none,com.example.notes:legacy=error"]).lines.count == 1)
  }

  @Test func aLevelThatIsNoneIsNamedOnceAndTheDefaultCounts() throws {
    let lines = try run(["VIRGA_LOG_LEVEL": "loud"]).lines
    #expect(lines.count { $0.contains("\"loud\" is no level") } == 1)
    #expect(lines.count == 8)
  }
}

@Suite struct SignpostTests {
  @Test func identifiersDiffer() {
    let poster = OSSignposter(subsystem: "a", category: .pointsOfInterest)
    #expect(poster.makeSignpostID() != poster.makeSignpostID())
    let object = NSObject()
    #expect(poster.makeSignpostID(from: object) == poster.makeSignpostID(from: object))
    #expect(!OSSignposter.disabled.isEnabled)
  }

  @Test func anIntervalEndsWhenItsTaskThrows() {
    struct Stop: Error {}
    #expect(throws: Stop.self) { try OSSignposter().withIntervalSignpost("work") { throw Stop() } }
  }
}
