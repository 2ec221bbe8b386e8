import Foundation
import Testing

/// The workflow for a public forge does what a change must pass, by targets that exist.
@Suite struct WorkflowTests {
  private let workflow: PlainYAML
  private let makefile: String
  private let steps: [PlainYAML]

  init() throws {
    workflow = try PlainYAML(SourceTree.text(".github/workflows/ci.yml"))
    makefile = try SourceTree.text("Makefile")
    steps = workflow["jobs"]?.members.values.flatMap { $0["steps"]?.list ?? [] } ?? []
  }

  private var commands: [String] {
    steps.compactMap { $0["run"]?.text }.flatMap { $0.split(whereSeparator: \.isNewline).map(String.init) }
  }

  @Test func everyJobRunsInTheContainerThatTheDocumentsName() throws {
    let contributing = try SourceTree.text("CONTRIBUTING.md")
    let jobs = try #require(workflow["jobs"]?.members)
    #expect(jobs.count >= 5)
    for (name, job) in jobs {
      let container = try #require(job["container"]?.text, "\(name)")
      #expect(contributing.contains(container), "\(name) runs in \(container)")
      #expect(job["runs-on"]?.text != nil && job["timeout-minutes"]?.text != nil, "\(name)")
      // What a job uses is checked out first, and each step does one thing.
      let steps = job["steps"]?.list ?? []
      #expect(steps.first?["uses"]?.text?.hasPrefix("actions/checkout@") == true, "\(name)")
      for step in steps { #expect((step["run"] == nil) != (step["uses"] == nil), "\(name): \(step)") }
    }
  }

  @Test func everyTargetThatAWorkflowOrDocumentNamesExists() throws {
    let targets = Set(makefile.matches(of: /(?m)^([a-z-]+):/).map { String($0.output.1) })
    let documents = SourceTree.documents.flatMap { document in
      document.blocks(of: "sh").joined().split(separator: "\n").map { (document.path, String($0)) }
    }
    let named = (commands.map { ("ci.yml", $0) } + documents).flatMap { place, command in
      command.matches(of: /(?:^|&& )make ([a-z-]+)/).map { (place, String($0.output.1)) }
    }
    #expect(named.count > 5)
    for (place, target) in named { #expect(targets.contains(target), "\(place) names make \(target)") }
    let help = makefile.matches(of: /@echo "make ([a-z-]+)/).map { String($0.output.1) }
    for target in help { #expect(targets.contains(target), "make help names \(target)") }
  }

  /// All that CONTRIBUTING.md promises, and what `.ci/run` runs.
  @Test func theWorkflowRunsAllThatAChangeMustPass() throws {
    let run = commands.joined(separator: "\n")
    for part in [".ci/run", "make release", "make bench-counts", "make tsan", "make fuzz SECONDS=", "make docs"] {
      #expect(run.contains(part), "\(part)")
    }
    let ci = try SourceTree.text(".ci/run")
    #expect(ci.contains("make lint") && ci.contains("make test"))
    #expect(FileManager.default.isExecutableFile(atPath: SourceTree.root.appendingPathComponent(".ci/run").path))
  }

  /// The documents that a forge looks for are there.
  @Test(arguments: ["README.md", "LICENSE", "CONTRIBUTING.md", "SECURITY.md", ".github/PULL_REQUEST_TEMPLATE.md"])
  func aForgeFindsItsDocuments(path: String) throws { #expect(try SourceTree.text(path).count > 100) }

  @Test func theChangelogHasASectionForTheProgramsVersion() throws {
    let changelog = try SourceTree.text("CHANGELOG.md")
    let program = try SourceTree.text("Sources/virga/Program.swift")
    let version = try #require(program.firstMatch(of: /static let version = "([0-9.]+)"/)).output.1
    let sections = changelog.matches(of: /(?m)^## (\S+)(?: - \d{4}-\d{2}-\d{2})?$/).map { String($0.output.1) }
    #expect(sections.first == "Unreleased" && sections.dropFirst().first == String(version), "\(sections)")
  }

  @Test func theReaderOfYAMLRefusesWhatIsNone() throws {
    for text in ["a: b\na: c", "a:\n\tb: c", "a: b\n  c: d", "a", "a: 'b", "a: b: c"] {
      #expect(throws: PlainYAML.Problem.self) { try PlainYAML(text) }
    }
    let list = try PlainYAML("a:\n  - b\n  - c: d\n    e: |\n      f\n      g\nh: [i, j]")
    #expect(
      list
        == .map([
          "a": .list([.text("b"), .map(["c": .text("d"), "e": .text("f\ng")])]), "h": .list([.text("i"), .text("j")]),
        ]))
  }
}
