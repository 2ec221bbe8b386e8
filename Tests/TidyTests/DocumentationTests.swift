import Foundation
import Testing

/// What a public name is for stands above it.
@Suite struct DocumentationTests {
  private struct Module {
    var documented = 0
    var undocumented: [String] = []
  }

  /// Public declarations by module. What a conformance or a superclass asks for has its documentation there.
  private static func modules() -> [String: Module] {
    var modules: [String: Module] = [:]
    for file in SourceTree.files(below: "Sources") {
      let lines = file.text.split(separator: "\n", omittingEmptySubsequences: false)
      let name = String(file.path.split(separator: "/")[1])
      for (number, line) in lines.enumerated() where isPublicDeclaration(line) && !inheritsDocumentation(line) {
        var above = number - 1
        // Attributes and conditions stand between a declaration and its documentation.
        while above >= 0, let first = lines[above].drop(while: { $0 == " " }).first, first == "@" || first == "#" {
          above -= 1
        }
        if above >= 0, lines[above].drop(while: { $0 == " " }).hasPrefix("///") {
          modules[name, default: Module()].documented += 1
        } else {
          modules[name, default: Module()].undocumented.append("\(file.path):\(number + 1)\(line)")
        }
      }
    }
    return modules
  }

  static func isPublicDeclaration(_ line: Substring) -> Bool {
    var words = line.split(separator: " ")
    while let word = words.first, word.hasPrefix("@") { words.removeFirst() }
    guard let first = words.first, first == "public" || first == "open" else { return false }
    let kinds: Set<Substring> = [
      "class", "struct", "enum", "protocol", "actor", "func", "var", "let", "typealias", "macro", "associatedtype",
    ]
    return words.dropFirst().prefix(6).contains {
      kinds.contains($0) || $0.hasPrefix("init(") || $0.hasPrefix("init?(") || $0.hasPrefix("init<")
        || $0.hasPrefix("subscript(")
    } && !words.dropFirst().prefix(2).contains("import") && !words.dropFirst().prefix(1).contains("extension")
  }

  private static let inherited = [
    " override ", "init?(coder", "encode(with coder", "supportsSecureCoding", "var description:", "debugDescription:",
    "static func ==", "func hash(into", "copy(with zone", "rawValue", "init(from decoder", "encode(to encoder",
    "typealias Element", "typealias Failure", "_nsError: NSError", "errorDomain:", "errorCode:", "errorUserInfo:",
    "makeIterator()", "makeAsyncIterator()", "func build", "func bind(to statement", "init(stringLiteral",
    "_cVarArgEncoding",
  ]

  static func inheritsDocumentation(_ line: Substring) -> Bool { inherited.contains { line.contains($0) } }

  @Test func theScannerKnowsADeclaration() {
    for line in [
      "public func a() {", "  public static let b = 1", "  @discardableResult public func c()", "open var d: Int?",
      "public convenience init(e: Int) {", "  public subscript(f: Int) -> Int {", "public final class G: H {",
    ] {
      #expect(Self.isPublicDeclaration(Substring(line)), "\(line)")
    }
    for line in [
      "public import VirgaModel", "public extension A {", "package func a() {", "  let isPublic = true",
      "/// public func a()", "func open(_ file: String) {", "  public", "",
    ] {
      #expect(!Self.isPublicDeclaration(Substring(line)), "\(line)")
    }
    #expect(Self.inheritsDocumentation("  public override var hash: Int {"))
    #expect(!Self.inheritsDocumentation("  public var hashes: Int {"))
  }

  /// The numbers in the file are those of undocumented names. They go down and never up; a module without an entry has
  /// no such name.
  @Test func undocumentedNamesBecomeFewer() throws {
    let file = SourceTree.root.appendingPathComponent("Tests/TidyTests/undocumented.json")
    let allowed = try JSONDecoder().decode([String: Int].self, from: Data(contentsOf: file))
    let modules = Self.modules()
    for name in Set(allowed.keys).union(modules.keys).sorted() {
      let found = modules[name]?.undocumented ?? []
      let limit = allowed[name] ?? 0
      if found.count > limit {
        Issue.record(
          "\(name) has \(found.count) undocumented public names, not \(limit):\n\(found.joined(separator: "\n"))")
      } else if found.count < limit {
        Issue.record("\(name) has only \(found.count) undocumented public names now: write that into undocumented.json")
      }
    }
  }

  /// The modules that apps import have a sentence for each name, and all together for four of five.
  @Test func publicNamesAreDocumented() {
    let modules = Self.modules()
    for name in ["VirgaCloudKit", "VirgaPredicates", "CloudKitMerge", "VirgaMerge", "VirgaDevices", "VirgaSQLite"] {
      #expect(modules[name]?.undocumented ?? [] == [], "\(name)")
    }
    let documented = modules.values.map(\.documented).reduce(0, +)
    let undocumented = modules.values.map(\.undocumented.count).reduce(0, +)
    #expect(documented * 100 >= (documented + undocumented) * 80, "\(documented) of \(documented + undocumented)")
  }
}
