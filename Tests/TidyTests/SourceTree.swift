import Foundation

/// The sources of this checkout, as text.
struct SourceTree {
  struct File {
    /// Relative to the root, such as `Sources/VirgaModel/Limits.swift`.
    let path: String
    let text: String

    /// The code blocks of a document that are in a language.
    func blocks(of language: String) -> [String] {
      text.components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    }
  }

  static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

  static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// The Swift files below a folder, by path.
  static func files(below folder: String) -> [File] {
    let base = root.appendingPathComponent(folder)
    guard let walker = FileManager.default.enumerator(at: base, includingPropertiesForKeys: nil) else { return [] }
    var files: [File] = []
    for case let url as URL in walker where url.pathExtension == "swift" {
      let path = String(url.standardizedFileURL.path.dropFirst(root.standardizedFileURL.path.count + 1))
      if path.contains(".build/") { continue }
      guard let text = try? String(contentsOf: url, encoding: .utf8) else { continue }
      files.append(File(path: path, text: text))
    }
    return files.sorted { $0.path < $1.path }
  }

  /// What is written for people: the documents of the root and of `docs`, by path.
  static var documents: [File] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path)) ?? []
    var paths = names.filter { $0.hasSuffix(".md") }
    for folder in ["docs", "Sources", ".github"] {
      let below = FileManager.default.enumerator(atPath: root.appendingPathComponent(folder).path)
      while let path = below?.nextObject() as? String { if path.hasSuffix(".md") { paths.append("\(folder)/\(path)") } }
    }
    return paths.sorted().compactMap { path in
      (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)).map { File(path: path, text: $0) }
    }
  }

  /// The modules that a file imports.
  static func imports(of file: File) -> [String] {
    file.text.split(separator: "\n").compactMap { line in
      var words = line.split(separator: " ").map(String.init)
      while let first = words.first,
        first.hasPrefix("@") || ["public", "package", "internal", "private"].contains(first)
      {
        words.removeFirst()
      }
      guard words.first == "import", words.count > 1 else { return nil }
      let kinds: Set<String> = ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"]
      let name = kinds.contains(words[1]) && words.count > 2 ? words[2] : words[1]
      return String(name.prefix { $0 != "." && $0 != ";" })
    }
  }

  /// The text of string literals, line by line.
  static func literals(of file: File) -> [(line: Int, text: String)] {
    parts(of: file).filter { !$0.literals.isEmpty }.map { ($0.line, $0.literals) }
  }

  /// The text without comments and without what stands in string literals, line by line.
  static func code(of file: File) -> [(line: Int, text: String)] { parts(of: file).map { ($0.line, $0.code) } }

  private static func parts(of file: File) -> [(line: Int, code: String, literals: String)] {
    var result: [(line: Int, code: String, literals: String)] = []
    var inBlockComment = false
    var inMultilineString = false
    for (number, line) in file.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      var (out, literals) = ("", "")
      var rest = line[...]
      var inString = false
      while let character = rest.first {
        if inBlockComment {
          if rest.hasPrefix("*/") { inBlockComment = false; rest = rest.dropFirst(2) } else { rest = rest.dropFirst() }
        } else if rest.hasPrefix("\"\"\"") && !inString {
          inMultilineString.toggle()
          rest = rest.dropFirst(3)
        } else if inMultilineString {
          literals.append(character)
          rest = rest.dropFirst()
        } else if inString {
          if character == "\\" {
            rest = rest.dropFirst(2)
          } else {
            if character == "\"" { inString = false }
            literals.append(character)
            rest = rest.dropFirst()
          }
        } else if rest.hasPrefix("//") {
          break
        } else if rest.hasPrefix("/*") {
          inBlockComment = true
          rest = rest.dropFirst(2)
        } else {
          if character == "\"" { inString = true }
          out.append(character)
          rest = rest.dropFirst()
        }
      }
      result.append((number + 1, out, literals))
    }
    return result
  }
}
