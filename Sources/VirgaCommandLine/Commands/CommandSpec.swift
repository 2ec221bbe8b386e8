/// What a command takes: the source of its help, of the check of its arguments, of completions and of manual pages.
public struct CommandSpec: Sendable {
  /// What a shell offers for a value.
  public enum Values: Hashable, Sendable {
    /// Any text.
    case anything
    /// Names of files.
    case files
    /// Names of folders.
    case folders
    /// One of these words.
    case words([String])

    /// What the name says that stands for a value in the help: `FILE` and `PATH` are files, `DIR` and `FOLDER` folders.
    public init(named name: String) {
      let last = name.split(separator: "-").last ?? ""
      self =
        switch last {
        case "FILE", "PATH": .files
        case "DIR", "FOLDER": .folders
        default: .anything
        }
    }
  }

  /// An option: a flag, or one with a value.
  public struct Option: Sendable {
    /// With its dashes: `--port`.
    public var name: String
    /// What stands for its value in the help; `nil` for a flag.
    public var value: String?
    /// Lines after the first are indented in the help.
    public var help: String
    /// Whether it may be given several times.
    public var isRepeatable: Bool
    /// What the option means without a value; it then takes one only as `--name=value`.
    public var valueIfBare: String?
    /// The variable of the environment that is its value where it is not given.
    public var variable: String?
    /// What its value can be, for completion in a shell.
    public var values: Values

    /// Makes an option.
    /// - Parameter values: What its value can be; by default what `value` is called says it, such as `FILE`.
    public init(
      name: String, value: String?, help: String, isRepeatable: Bool = false, valueIfBare: String? = nil,
      variable: String? = nil, values: Values? = nil
    ) {
      self.name = name
      self.value = value
      self.help = help
      self.isRepeatable = isRepeatable
      self.valueIfBare = valueIfBare
      self.variable = variable
      self.values = values ?? value.map(Values.init(named:)) ?? .anything
    }

    /// As in the help: `--port N`, `--log[=FORMAT]`.
    public var usage: String {
      guard let value else { return name }
      return valueIfBare == nil ? "\(name) \(value)" : "\(name)[=\(value)]"
    }
  }

  /// A word that follows the command. As a literal: `NAME`, `[NAME]` if it may be left out, `NAME…` if there may be several.
  public struct Operand: ExpressibleByStringLiteral, Sendable {
    /// What stands for it in the help.
    public var name: String
    /// Whether it may be left out.
    public var isOptional: Bool
    /// Whether there may be several.
    public var isRepeatable: Bool
    /// What it can be, for completion in a shell.
    public var values: Values

    /// Makes an operand from its text in the help, such as `[NAME]` or `FILE…`.
    public init(_ text: String, values: Values? = nil) {
      var name = text[...]
      isOptional = name.hasPrefix("[")
      if isOptional { name = name.dropFirst() }
      if name.last == "]" { name = name.dropLast() }
      isRepeatable = name.last == "…"
      if isRepeatable { name = name.dropLast() }
      self.name = String(name)
      self.values = values ?? Values(named: self.name)
    }

    public init(stringLiteral text: String) { self.init(text) }

    /// As in the help.
    public var usage: String {
      let text = name + (isRepeatable ? "…" : "")
      return isOptional ? "[\(text)]" : text
    }
  }

  /// As typed, with the program: `virga account show`.
  public var name: String
  /// Whole sentences.
  public var summary: String
  /// A phrase for lists of commands; by default the first sentence of the summary.
  public var brief: String
  /// The words that follow the command, in their order.
  public var operands: [Operand]
  /// The command's own options, in the order of the help.
  public var options: [Option]
  /// Printed below the options.
  public var notes: String
  /// Whole command lines.
  public var examples: [String]

  /// Makes a command.
  /// - Parameter brief: By default the first sentence of the summary.
  public init(
    name: String, summary: String, brief: String? = nil, operands: [Operand] = [], options: [Option] = [],
    notes: String = "", examples: [String] = []
  ) {
    self.name = name
    self.summary = summary
    self.brief = brief ?? Self.firstSentence(of: summary)
    self.operands = operands
    self.options = options
    self.notes = notes
    self.examples = examples
  }

  /// The words after the program.
  public var words: [String] { name.split(separator: " ").dropFirst().map(String.init) }

  /// How many operands there may be; `nil` for as many as one likes.
  public var operandsMax: Int? { operands.contains(where: \.isRepeatable) ? nil : operands.count }
  /// How many operands there must be.
  public var operandsMin: Int { operands.count { !$0.isOptional } }

  /// The operand that stands in a place, counted from 0.
  public func operand(at place: Int) -> Operand? {
    if place < operands.count { return operands[place] }
    return operands.last.flatMap { $0.isRepeatable ? $0 : nil }
  }

  static func firstSentence(of text: String) -> String {
    var sentence = ""
    var characters = text[...]
    while let character = characters.popFirst() {
      if character == "\n" {
        sentence.append(" ")
      } else if character == "." || character == ":" || character == ";",
        characters.first.map({ $0 == " " || $0 == "\n" }) ?? true
      {
        break
      } else {
        sentence.append(character)
      }
    }
    return sentence
  }
}
