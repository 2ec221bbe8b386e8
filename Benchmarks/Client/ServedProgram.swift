import Foundation

/// A real `virga serve` of the same build, and the steps that run against it as programs of their own.
final class ServedProgram {
  private let process = Process()
  private let folder: URL
  private var endpoint = ""

  init() throws {
    let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    folder = URL(fileURLWithPath: FileManager.default.currentDirectoryPath)
      .appendingPathComponent(".build/bench-client-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    process.executableURL = program.deletingLastPathComponent().appendingPathComponent("virga")
    process.arguments = ["serve", "--port", "0", "--data", folder.appendingPathComponent("data").path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    var text = ""
    while endpoint.isEmpty {
      let data = output.fileHandleForReading.availableData
      guard !data.isEmpty else { throw BenchError("virga serve ended early: \(text)") }
      text += String(decoding: data, as: UTF8.self)
      if let range = text.range(of: #"http://127\.0\.0\.1:[0-9]+"#, options: .regularExpression) {
        endpoint = String(text[range])
      }
    }
    output.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
  }

  func perform(_ kind: Step.Kind, _ count: Int) throws -> StepResult {
    let step = Process()
    step.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    step.arguments = ["step", kind.rawValue, String(count), endpoint, folder.path]
    let output = Pipe()
    step.standardOutput = output
    try step.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    step.waitUntilExit()
    guard step.terminationStatus == 0 else { throw BenchError("the step \(kind) failed") }
    return try JSONDecoder().decode(StepResult.self, from: data)
  }

  func stop() {
    process.terminate()
    process.waitUntilExit()
    // What stays behind is below .build.
    try? FileManager.default.removeItem(at: folder)
  }
}
