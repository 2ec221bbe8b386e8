import Foundation
import Testing

/// A source that needs what these modules cannot do is told so by the compiler.
@Suite struct MissingTests {
  @Test(arguments: [
    ("CoreLocation", "let manager = CLLocationManager()", "Linux has no location service here"),
    ("CoreLocation", "let geocoder = CLGeocoder()", "Linux has no geocoder"),
    ("CoreLocation", "var region: CLCircularRegion?", "Linux has no region monitoring"),
    ("OSLog", "let store = OSLogStore()", "Linux has no store of log messages"),
    ("os", "print(os_proc_available_memory())", "Linux sets no limit"),
    (
      "UniformTypeIdentifiers", "import Foundation; print(URLResourceValues().contentType as Any)",
      "Linux has no registry of file types"
    ),
  ])
  func theCompilerSaysWhatToDoInstead(module: String, use: String, message: String) throws {
    let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL
    let built = Bundle.main.executableURL!.deletingLastPathComponent()
    let source = FileManager.default.temporaryDirectory.appendingPathComponent("missing-\(UUID().uuidString).swift")
    defer { try? FileManager.default.removeItem(at: source) }
    try "import \(module)\n\(use)\n".write(to: source, atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-typecheck", "-I", built.appendingPathComponent("Modules").path, source.path]
      + ["CCurl", "COpenSSL", "CSodium"].flatMap { ["-I", root.appendingPathComponent("Sources/\($0)").path] }
    let errors = Pipe()
    process.standardError = errors
    try process.run()
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus != 0)
    #expect(text.contains("is unavailable: \(message)"), "\(text)")
  }
}
