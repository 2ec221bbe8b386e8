/// The part of YAML that our workflow files use: mappings, sequences, plain scalars, `[flow, sequences]` and blocks after `|`.
indirect enum PlainYAML: Equatable {
  case text(String)
  case list([PlainYAML])
  case map([String: PlainYAML])

  struct Problem: Error, CustomStringConvertible {
    let line: Int
    let text: String
    var description: String { "line \(line): \(text)" }
  }

  subscript(key: String) -> PlainYAML? {
    if case .map(let members) = self { members[key] } else { nil }
  }

  var text: String? { if case .text(let text) = self { text } else { nil } }
  var list: [PlainYAML] { if case .list(let elements) = self { elements } else { [] } }
  var members: [String: PlainYAML] { if case .map(let members) = self { members } else { [:] } }

  init(_ document: String) throws {
    var reader = try Reader(document)
    self = try reader.value(indent: 0)
    if let rest = reader.lines.first { throw Problem(line: rest.number, text: "indented too little or too much") }
  }

  private struct Line {
    var number: Int
    var indent: Int
    var text: Substring
  }

  private struct Reader {
    var lines: ArraySlice<Line>

    init(_ document: String) throws {
      var found: [Line] = []
      for (offset, line) in document.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
        let text = line.drop { $0 == " " }
        if text.isEmpty || text.hasPrefix("#") { continue }
        if text.contains("\t") { throw Problem(line: offset + 1, text: "a tab") }
        found.append(Line(number: offset + 1, indent: line.count - text.count, text: text))
      }
      lines = found[...]
    }

    mutating func value(indent: Int) throws -> PlainYAML {
      guard let first = lines.first, first.indent >= indent else { return .text("") }
      return first.text.hasPrefix("- ") ? try list(first.indent) : try map(first.indent)
    }

    private mutating func list(_ indent: Int) throws -> PlainYAML {
      var elements: [PlainYAML] = []
      while let line = lines.first, line.indent == indent, line.text.hasPrefix("- ") {
        let rest = line.text.dropFirst(2)
        // The element's first member stands behind the dash; it is read as if the dash were blank.
        lines[lines.startIndex] = Line(number: line.number, indent: indent + 2, text: rest)
        if Self.key(rest) == nil {
          lines.removeFirst()
          elements.append(try Self.scalar(rest, line.number))
        } else {
          elements.append(try map(indent + 2))
        }
      }
      return .list(elements)
    }

    private mutating func map(_ indent: Int) throws -> PlainYAML {
      var members: [String: PlainYAML] = [:]
      while let line = lines.first, line.indent == indent {
        guard let (key, rest) = Self.key(line.text) else { throw Problem(line: line.number, text: "not KEY: VALUE") }
        guard members[key] == nil else { throw Problem(line: line.number, text: "\(key) is given twice") }
        lines.removeFirst()
        switch rest {
        case "": members[key] = try value(indent: indent + 1)
        case "|": members[key] = .text(block(deeperThan: indent))
        default: members[key] = try Self.scalar(rest, line.number)
        }
      }
      return .map(members)
    }

    private mutating func block(deeperThan indent: Int) -> String {
      let block = lines.prefix { $0.indent > indent }
      lines.removeFirst(block.count)
      return block.map { String($0.text) }.joined(separator: "\n")
    }

    private static func key(_ text: Substring) -> (String, Substring)? {
      guard let colon = text.firstIndex(of: ":"), text[..<colon].allSatisfy({ $0.isLetter || "-_".contains($0) }) else {
        return nil
      }
      let rest = text[text.index(after: colon)...]
      return rest.isEmpty || rest.hasPrefix(" ") ? (String(text[..<colon]), rest.drop { $0 == " " }) : nil
    }

    private static func scalar(_ text: Substring, _ line: Int) throws -> PlainYAML {
      if text.hasPrefix("[") {
        guard text.hasSuffix("]") else { throw Problem(line: line, text: "a list that does not end") }
        return .list(text.dropFirst().dropLast().split(separator: ",").map { .text(String($0.drop { $0 == " " })) })
      }
      // What begins so is something else than plain text, and `: ` or ` #` would end it.
      guard !"{&*!|>'\"%@`".contains(text.first ?? " "), !text.contains(": "), !text.contains(" #") else {
        throw Problem(line: line, text: "a form that this reader does not know: \(text)")
      }
      return .text(String(text))
    }
  }
}
