import Foundation
import Testing

/// What a reader of any file may rely on.
@Suite struct HygieneTests {
  private static let folders = ["Sources", "Tests", "Examples/Sources", "Examples/Tests", "Companions", "Benchmarks"]
  private var shipped: [SourceTree.File] {
    ["Sources", "Examples/Sources", "Companions/Sources"].flatMap { SourceTree.files(below: $0) }
  }

  @Test func noForcedTryAndNoPromiseToFinishLater() {
    for file in shipped {
      for (line, text) in SourceTree.code(of: file) where text.contains("try!") {
        Issue.record("\(file.path):\(line) forces a try")
      }
      for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
      where line.contains("TODO") || line.contains("FIXME") {
        Issue.record("\(file.path):\(number + 1) leaves something for later")
      }
    }
  }

  @Test func noEmptyCatch() {
    for file in shipped {
      let code = SourceTree.code(of: file).map(\.text).joined(separator: "\n")
      #expect(code.range(of: #"catch\s*\{\s*\}"#, options: .regularExpression) == nil, "\(file.path)")
    }
  }

  /// What is printed of an error is its description; without one it would be the name of a type. Those without a content only
  /// end a loop, and are caught outside of it.
  @Test func everyErrorSaysWhatHappened() {
    for file in shipped {
      let code = SourceTree.code(of: file).map(\.text).joined(separator: "\n")
      for match in code.matches(of: /(?:struct|enum|class) (\w+): ([^{\n]*)\{(?!\})/) {
        let conformances = match.output.2.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
        guard conformances.contains(where: { ["Error", "CustomNSError", "LocalizedError"].contains($0) }) else {
          continue
        }
        let isDescribed =
          conformances.contains("CustomStringConvertible")
          || code.contains("extension \(match.output.1): CustomStringConvertible")
        #expect(isDescribed, "\(file.path): \(match.output.1) has no description")
      }
    }
  }

  @Test func librariesSpawnNoBareTasks() {
    for file in SourceTree.files(below: "Sources") where !file.path.hasPrefix("Sources/virga/") {
      for (line, text) in SourceTree.code(of: file)
      where text.range(of: #"\bTask\s*\{|Task\.detached|Task\.sleep"#, options: .regularExpression) != nil {
        Issue.record("\(file.path):\(line) leaves the executor it was given: \(text)")
      }
    }
  }

  @Test func filesStayReadable() {
    for file in Self.folders.flatMap({ SourceTree.files(below: $0) }) {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false).count
      #expect(lines <= 900, "\(file.path) has \(lines) lines: is it one flat thing?")
    }
  }

  @Test func textSpeaksOfTheProjectAlone() {
    let documents = ["README.md", "CHANGELOG.md", "docs"].map { SourceTree.root.appendingPathComponent($0) }
    var texts = Self.folders.flatMap { SourceTree.files(below: $0) }.map { ($0.path, $0.text) }
    for document in documents {
      let paths = (FileManager.default.enumerator(atPath: document.path)?.allObjects as? [String]) ?? []
      for path in paths where path.hasSuffix(".md") {
        if let text = try? String(contentsOf: document.appendingPathComponent(path), encoding: .utf8) {
          texts.append((path, text))
        }
      }
      if let text = try? String(contentsOf: document, encoding: .utf8) {
        texts.append((document.lastPathComponent, text))
      }
    }
    let here = "/" + "work/"
    for (path, text) in texts where !path.hasSuffix("HygieneTests.swift") {
      #expect(!text.contains(here), "\(path) names a path of one machine")
    }
  }

  /// Every line of the page's code stands in a file that tests compile.
  @Test func thePageOnConflictsShowsCodeThatCompiles() throws {
    let page = try String(contentsOf: SourceTree.root.appendingPathComponent("docs/conflicts.md"), encoding: .utf8)
    let compiled = try String(
      contentsOf: SourceTree.root.appendingPathComponent("Tests/CloudKitTests/Documents/ConflictsSample.swift"),
      encoding: .utf8)
    let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    #expect(blocks.count > 4)
    for line in blocks.joined().split(separator: "\n") {
      #expect(compiled.contains(line), "docs/conflicts.md shows another sample than the one that is compiled: \(line)")
    }
  }

  @Test(arguments: [
    ("README.md", "CloudKitTests/Documents/ReadmeSample"),
    ("docs/testing-your-app.md", "EndToEndTests/Documents/TwoDeviceTests"),
  ])
  func documentsShowCodeThatCompiles(document: String, sample name: String) throws {
    let readme = try String(contentsOf: SourceTree.root.appendingPathComponent(document), encoding: .utf8)
    // A manifest is another matter: see `PackageDocumentTests`.
    let samples = readme.components(separatedBy: "```swift\n").dropFirst().filter { !$0.hasPrefix("// swift-tools") }
    let sample = try #require(samples.first)
    let compiled = try String(
      contentsOf: SourceTree.root.appendingPathComponent("Tests/\(name).swift"), encoding: .utf8)
    for line in sample.components(separatedBy: "```")[0].split(separator: "\n") {
      #expect(compiled.contains(line), "\(document) shows another sample than the one that is compiled: \(line)")
    }
  }

  @Test func everyFieldReportNamesTestsThatExist() throws {
    let text = try String(
      contentsOf: SourceTree.root.appendingPathComponent("docs/field-reports.md"), encoding: .utf8)
    let tests = ["Tests", "Examples/Tests"].flatMap { SourceTree.files(below: $0) }
    let suites = Dictionary(
      tests.flatMap { file in
        file.text.matches(of: /(?:struct|class|enum|extension) (\w+)/).map { (String($0.output.1), file.text) }
      }, uniquingKeysWith: +)
    let rows = text.components(separatedBy: "\n- **").dropFirst()
    #expect(rows.count > 50)
    for row in rows {
      let names = row.matches(of: /(\w+Tests)\.(\w+)/)
      #expect(!names.isEmpty, "no test in: \(row)")
      for name in names {
        let suite = suites[String(name.output.1)]
        #expect(suite?.contains("func \(name.output.2)(") == true, "no test \(name.output.0) for: \(row)")
      }
    }
  }
}
