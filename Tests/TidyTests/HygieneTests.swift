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

  /// A test waits for an event. One that waits for real time says why, in the line above or behind it.
  @Test func testsThatWaitForRealTimeSayWhy() {
    for file in ["Tests", "Examples/Tests", "Companions/Tests"].flatMap({ SourceTree.files(below: $0) }) {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      for (number, code) in SourceTree.code(of: file)
      where code.range(of: #"\busleep\(|\bsleep\((for|[0-9])|Thread\.sleep"#, options: .regularExpression) != nil {
        let near = lines[max(0, number - 2)..<number].joined()
        #expect(near.contains("// "), "\(file.path):\(number) waits, and does not say why: \(code)")
      }
    }
  }

  /// `make test` proves the same in a public clone: what a test needs is in it, or made by it.
  @Test func noTestIsLeftOutForFilesThatAreNotHere() {
    for file in ["Tests", "Examples/Tests"].flatMap({ SourceTree.files(below: $0) }) {
      for (number, code) in SourceTree.code(of: file) {
        let isLeftOut = code.contains(".enabled(if:") || code.contains(".disabled(if:")
        #expect(!isLeftOut || !code.contains("Corpus"), "\(file.path):\(number) is left out without the corpus")
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
