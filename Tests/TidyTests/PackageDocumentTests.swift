import Foundation
import Testing

/// What the documents tell a developer who adds the package to an app.
@Suite struct PackageDocumentTests {
  private let manifest: String
  private let readme: String
  private let testing: String

  init() throws {
    func text(_ path: String) throws -> String {
      try String(contentsOf: SourceTree.root.appendingPathComponent(path), encoding: .utf8)
    }
    (manifest, readme, testing) = (
      try text("Package.swift"), try text("README.md"), try text("docs/testing-your-app.md")
    )
  }

  private func block(_ language: String, in document: String) throws -> String {
    let start = try #require(document.firstRange(of: "```\(language)\n"))
    let rest = document[start.upperBound...]
    return String(rest[..<(try #require(rest.firstRange(of: "```"))).lowerBound])
  }

  /// The targets that a target of the manifest needs, itself included, as `swift package` describes them.
  private func needs(of product: String) throws -> Set<String> {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let cache = FileManager.default.temporaryDirectory.appendingPathComponent("virga-manifest-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: cache) }
    process.arguments = [
      // The whole manifest, also where only some targets are being tested.
      "-u", "VIRGA_ONLY", "swift", "package", "--package-path", SourceTree.root.path, "--scratch-path", cache.path,
      "dump-package",
    ]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let package = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    let products = try #require(package["products"] as? [[String: Any]])
    let roots = products.first { $0["name"] as? String == product }?["targets"] as? [String]
    var found: Set<String> = []
    var open = try #require(roots)
    let targets = try #require(package["targets"] as? [[String: Any]])
    while let name = open.popLast() {
      guard found.insert(name).inserted else { continue }
      let target = targets.first { $0["name"] as? String == name }
      for dependency in target?["dependencies"] as? [[String: Any]] ?? [] {
        open += (dependency["byName"] as? [Any])?.compactMap { $0 as? String } ?? []
      }
    }
    return found
  }

  /// An app that adds the product compiles and links nothing of the server.
  @Test func theProductBuildsNoServer() throws {
    let needs = try needs(of: "CloudKit")
    #expect(needs.contains("VirgaCloudKit") && needs.contains("VirgaSync"))
    #expect(
      needs.filter { $0.contains("Server") || $0.contains("HTTP") || $0.contains("SQLite") || $0 == "virga" } == [])
  }

  /// SwiftPM refuses targets with unsafe flags in packages that others depend on by URL.
  @Test func theManifestMayBeDependedOn() { #expect(!manifest.contains("unsafeFlags")) }

  /// Each library has tests: a target of its own, or one that the manifest gives a reason for.
  @Test func everyLibraryIsTested() throws {
    let start = try #require(manifest.firstRange(of: "    // Tests."))
    let tests = manifest[start.upperBound...]
    let libraries = manifest.matches(of: /module\(\s*"(\w+)"/).map { String($0.output.1) }
    #expect(libraries.count > 15)
    for library in libraries {
      #expect(tests.contains("\"\(library)\""), "no test target names \(library)")
      let name = library.hasPrefix("Virga") ? String(library.dropFirst("Virga".count)) : library
      #expect(
        ["\(name)Tests", "\(name.dropLast())Tests"].contains { tests.contains("\"\($0)\"") }
          || tests.contains("`\(library)`"),
        "\(library) has no test target, and the manifest does not say why")
    }
  }

  @Test func theReadmeNamesAProductOfThePackage() throws {
    let sample = try block("swift", in: readme)
    let product = try #require(sample.firstMatch(of: /\.product\(name: "(\w+)", package: "(\w+)"\)/))
    #expect(manifest.contains(".library(name: \"\(product.output.1)\""))
    #expect(manifest.contains("name: \"\(product.output.2)\","))
    #expect(sample.hasPrefix(manifest.split(separator: "\n")[0]))
  }

  /// The workflow installs what the manifest needs, builds what there is, and its scripts are ones that a shell reads.
  @Test func theWorkflowFitsThePackage() throws {
    let workflow = try block("yaml", in: testing)
    let libraries = manifest.matches(of: /\.apt\(\["([^"]+)"\]\)/).map { String($0.output.1) }
    #expect(libraries.count >= 4)
    for library in libraries { #expect(workflow.contains(library), "the workflow does not install \(library)") }
    let product = try #require(workflow.firstMatch(of: /--product (\w+)/)).output.1
    #expect(manifest.contains(".executable(name: \"\(product)\""))
    #expect(workflow.contains("VIRGA_PROGRAM:") && testing.contains("environment[\"VIRGA_PROGRAM\"]"))
    let scripts = workflow.matches(of: /run: (?:\|\n((?: {10,}[^\n]*\n)+)|([^\n]+))/)
      .map { String($0.output.1 ?? $0.output.2 ?? "") }
    #expect(scripts.count == 3)
    for script in scripts {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-n", "-c", script]
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0, "\(script)")
    }
    // Indentation by spaces, in steps of two: what a reader of YAML trips over first.
    for line in workflow.split(separator: "\n") {
      #expect(line.prefix { $0 == " " }.count % 2 == 0 && !line.contains("\t"), "\(line)")
    }
  }
}
