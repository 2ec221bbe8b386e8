/// What a command takes: the source of its help and of the check of its arguments.
struct CommandSpec: Sendable {
  struct Option: Sendable {
    /// With its dashes: `--port`.
    var name: String
    /// What stands for its value in the help; `nil` for a flag.
    var value: String?
    var help: String
    var isRepeatable = false
    /// What the option means without a value; it then takes one only as `--name=value`.
    var valueIfBare: String?
  }

  /// As typed: `virga serve`.
  var name: String
  var summary: String
  /// What stands for its operands in the help; all are required.
  var operands: [String] = []
  var options: [Option] = []
  /// Printed below the options.
  var notes = ""

  var help: String {
    let usage = ([name] + operands + (options.isEmpty ? [] : ["[options]"])).joined(separator: " ")
    var text = "\(summary)\n\nUsage: \(usage)\n"
    let all = options + [Option(name: "--help", value: nil, help: "Print this and exit.")]
    let heads = all.map { option in
      option.name + (option.value.map { option.valueIfBare == nil ? " " + $0 : "[=" + $0 + "]" } ?? "")
    }
    let width = heads.map(\.count).max() ?? 0
    text += "\nOptions:\n"
    for (head, option) in zip(heads, all) {
      let padding = String(repeating: " ", count: width - head.count)
      let lines = option.help.split(separator: "\n").map(String.init)
      text += "  \(head)\(padding)  \(lines.joined(separator: "\n" + String(repeating: " ", count: width + 4)))\n"
    }
    if let examples = CommandExamples.all[name] {
      text += "\n\(examples.count == 1 ? "Example" : "Examples"):\n"
      for example in examples { text += "  \(example)\n" }
    }
    return notes.isEmpty ? text : text + "\n" + notes + "\n"
  }
}

/// The arguments of one command, checked against what it takes.
struct Arguments: Sendable {
  let spec: CommandSpec
  private(set) var operands: [String] = []
  private(set) var wantsHelp = false
  private var values: [String: [String]] = [:]

  /// - Throws: If an option is unknown, lacks its value or came twice, or the operands are too many or too few.
  init(_ words: [String], for spec: CommandSpec) throws(Failure) {
    self.spec = spec
    if words.contains("--help") || words.contains("-h") {
      wantsHelp = true
      return
    }
    var rest = words[...]
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        break
      }
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let option = spec.options.first(where: { $0.name == parts[0] }) else {
        throw .usage(spec.name, "unknown option \(parts[0])")
      }
      if option.value == nil {
        guard parts.count == 1 else { throw .usage(spec.name, "\(option.name) takes no value") }
        values[option.name] = []
        continue
      }
      let value: String
      if parts.count == 2 {
        value = parts[1]
      } else if let bare = option.valueIfBare {
        value = bare
      } else if let next = rest.first, !next.hasPrefix("--") {
        value = next
        rest.removeFirst()
      } else {
        throw .usage(spec.name, "\(option.name) needs a value")
      }
      guard !value.isEmpty else { throw .usage(spec.name, "\(option.name) needs a value") }
      guard option.isRepeatable || values[option.name] == nil else {
        throw .usage(spec.name, "\(option.name) was given twice")
      }
      values[option.name, default: []].append(value)
    }
    if operands.count < spec.operands.count {
      throw .usage(spec.name, "\(spec.operands[operands.count]) is missing")
    }
    if operands.count > spec.operands.count {
      throw .usage(spec.name, "unexpected argument \(operands[spec.operands.count])")
    }
  }

  func has(_ option: String) -> Bool { values[option] != nil }
  func value(_ option: String) -> String? { values[option]?.first }
  func values(_ option: String) -> [String] { values[option] ?? [] }

  /// A value that has to be one of a few words.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ option: String
  ) throws(Failure) -> Choice? where Choice.RawValue == String {
    guard let text = value(option) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw .usage(spec.name, "\(option) is one of \(words), not \(text)")
  }
}
