import Foundation
import Testing

/// The code that documents show is compiled.
@Suite struct DocumentCodeTests {
  /// The files in which a document's code stands, below Tests; a block may come from any of them.
  static let samples: [(document: String, files: [String])] = [
    ("README.md", ["CloudKitTests/Documents/ReadmeSample"]),
    ("docs/testing-your-app.md", ["EndToEndTests/Documents/TwoDeviceTests"]),
    ("docs/conflicts.md", ["CloudKitTests/Documents/ConflictsSample"]),
    (
      "Sources/VirgaCloudKit/VirgaCloudKit.docc",
      [
        "EndToEndTests/Documents/CatalogueTests", "EndToEndTests/Documents/TwoDeviceTests",
        "CloudKitTests/Documents/ConflictsSample",
      ]
    ),
  ]

  /// Every block of Swift, whole and in its order, is in a file that tests compile.
  @Test(arguments: samples)
  func documentsShowCodeThatCompiles(document: String, files: [String]) throws {
    let compiled = try files.map { lines(try SourceTree.text("Tests/\($0).swift")) }
    var count = 0
    for page in SourceTree.documents where page.path == document || page.path.hasPrefix("\(document)/") {
      for block in page.blocks(of: "swift") {
        // A manifest is another matter: see `PackageDocumentTests`.
        if block.hasPrefix("// swift-tools") { continue }
        count += 1
        let wanted = lines(block)
        #expect(
          wanted.isEmpty || compiled.contains { $0.firstRange(of: wanted) != nil },
          "\(page.path) shows code that no test compiles:\n\(block)")
      }
    }
    #expect(count > 0)
  }

  /// Lines of code without indentation: a document may show a part without its place, and needs no imports for that. A
  /// line behind `//  ` is what the document says where the test needs another.
  private func lines(_ text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.compactMap { line in
      if line.hasPrefix("//  ") { return line.dropFirst(2).trimmingCharacters(in: .whitespaces) }
      let isLeftOut = line.isEmpty || line.hasPrefix("// ") || line.hasPrefix("import ")
      return isLeftOut || line == "static let program = ProgramRun.path" ? nil : line
    }
  }
}
