/// What a command takes.
package struct CommandShape: Sendable {
  package enum Value: Sendable { case none, one, many }

  package var name: String
  package var options: [String: Value]
  /// How many words may follow, options apart.
  package var words: ClosedRange<Int>
  /// Options of which one excludes the other.
  package var exclusive: [(String, String)] = []

  package static let shared: [String: Value] = ["home": .one, "json": .none, "help": .none]

  package static let all: [CommandShape] = [
    CommandShape(
      name: "new",
      options: [
        "text": .one, "date": .one, "zone": .one, "tag": .many, "mood": .one, "star": .none, "attach": .many,
        "place": .one,
      ], words: 0...0),
    CommandShape(
      name: "edit",
      options: [
        "text": .one, "append": .one, "date": .one, "zone": .one, "tag": .many, "untag": .many, "mood": .one,
        "star": .none, "unstar": .none, "attach": .many, "detach": .many, "place": .one, "restore": .one,
      ], words: 1...1, exclusive: [("text", "append"), ("text", "restore"), ("star", "unstar")]),
    CommandShape(
      name: "list",
      options: ["limit": .one, "tag": .one, "starred": .none, "since": .one, "until": .one], words: 0...0),
    CommandShape(name: "show", options: ["versions": .none], words: 1...1),
    CommandShape(name: "search", options: ["limit": .one], words: 1...100),
    CommandShape(name: "delete", options: [:], words: 1...1000),
    CommandShape(name: "import", options: [:], words: 1...1),
    CommandShape(
      name: "export", options: ["format": .one, "tag": .one, "starred": .none, "since": .one, "until": .one],
      words: 1...1),
    CommandShape(name: "open", options: [:], words: 1...100),
    CommandShape(name: "sync", options: ["again": .none], words: 0...0),
    CommandShape(name: "watch", options: [:], words: 0...0),
    CommandShape(name: "status", options: [:], words: 0...0),
    CommandShape(name: "invite", options: ["yes": .none], words: 0...0),
    CommandShape(name: "join", options: ["replace": .none, "server": .one], words: 1...1),
    CommandShape(name: "devices", options: [:], words: 0...0),
    CommandShape(name: "device", options: [:], words: 1...2),
    CommandShape(name: "conflicts", options: ["keep": .one], words: 0...2),
    CommandShape(name: "completion", options: ["file": .one], words: 1...1),
    CommandShape(name: "manual", options: [:], words: 1...1),
    CommandShape(name: "help", options: [:], words: 0...1),
  ]
}

/// Why a command line was not understood.
package enum UsageError: Error, Hashable, CustomStringConvertible {
  case noCommand
  case unknownCommand(String)
  case unknownOption(String, command: String)
  case valueIsMissing(option: String, command: String)
  case valueIsUnwanted(option: String, command: String)
  case optionIsRepeated(String, command: String)
  case optionsExclude(String, String, command: String)
  case wordIsMissing(command: String)
  case tooManyWords(String, command: String)
  case valueIsWrong(option: String, value: String)

  /// For those who write programs; users are told in their language.
  package var description: String { Lanternly.explain(self, .english) }
}

/// A command line, read.
package struct Arguments: Hashable, Sendable {
  package var command = ""
  package var words: [String] = []
  private var values: [String: [String]] = [:]

  package func has(_ option: String) -> Bool { values[option] != nil }
  package func value(_ option: String) -> String? { values[option]?.last }
  package func all(_ option: String) -> [String] { values[option] ?? [] }

  /// Whether the command may be a diary's first.
  var makesDiary: Bool { ["new", "import", "sync", "watch", "join"].contains(command) }

  var changesDiary: Bool {
    if has("help") { return false }
    return ["new", "edit", "delete", "import"].contains(command) || command == "conflicts" && !words.isEmpty
  }

  /// Whether what other processes left in the diary's folder may be removed.
  var writes: Bool { ["new", "edit", "import"].contains(command) }

  /// Commands of people who write, or ask how things stand.
  var tellsOfDrafts: Bool { ["new", "edit", "status", "list"].contains(command) && !has("json") }

  var onlyReads: Bool {
    ["list", "show", "search", "status", "export"].contains(command) || command == "conflicts" && words.isEmpty
  }

  /// Options may stand anywhere; `--` ends them.
  package init(_ arguments: [String]) throws(UsageError) {
    var rest = arguments[...]
    var options: [(name: String, value: String?)] = []
    var areOptionsOver = false
    var shape: CommandShape?
    while let argument = rest.popFirst() {
      if argument == "--" && !areOptionsOver {
        areOptionsOver = true
      } else if let name = Self.optionName(argument), !areOptionsOver {
        let parts = name.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let kind = Self.kind(parts[0], in: shape)
        let needsNext = parts.count == 1 && (kind == .one || kind == .many)
        if needsNext && rest.isEmpty { throw .valueIsMissing(option: parts[0], command: command) }
        options.append((parts[0], parts.count == 2 ? parts[1] : needsNext ? rest.popFirst() : nil))
      } else if shape == nil {
        command = argument
        shape = CommandShape.all.first { $0.name == argument }
        if shape == nil { throw .unknownCommand(argument) }
      } else {
        words.append(argument)
      }
    }
    for option in options { try add(option, shape: shape) }
    guard let shape else {
      if has("help") || has("version") { return }
      throw .noCommand
    }
    if has("help") { return }
    for (one, other) in shape.exclusive where has(one) && has(other) {
      throw .optionsExclude(one, other, command: command)
    }
    if words.count < shape.words.lowerBound { throw .wordIsMissing(command: command) }
    if words.count > shape.words.upperBound {
      throw .tooManyWords(words[shape.words.upperBound], command: command)
    }
  }

  private static func optionName(_ argument: String) -> String? {
    switch argument {
    case "-h": "help"
    case _ where argument.hasPrefix("--") && argument.count > 2: String(argument.dropFirst(2))
    default: nil
    }
  }

  private static func kind(_ name: String, in shape: CommandShape?) -> CommandShape.Value? {
    if name == "version" && shape == nil { return CommandShape.Value.none }
    // Before the command only what all share can be told apart.
    return CommandShape.shared[name] ?? shape?.options[name]
  }

  private mutating func add(
    _ option: (name: String, value: String?), shape: CommandShape?
  ) throws(UsageError) {
    guard let kind = Self.kind(option.name, in: shape) else {
      throw .unknownOption(option.name, command: command)
    }
    switch (kind, option.value) {
    case (.none, .some): throw .valueIsUnwanted(option: option.name, command: command)
    case (.one, nil), (.many, nil): throw .valueIsMissing(option: option.name, command: command)
    case (.one, .some("")) where option.name == "home":
      // Not the current directory: a variable in a script was empty.
      throw .valueIsMissing(option: option.name, command: command)
    case (.one, .some) where has(option.name): throw .optionIsRepeated(option.name, command: command)
    case (.none, nil): values[option.name] = []
    case (_, .some(let value)): values[option.name, default: []].append(value)
    }
  }
}

extension CommandShape.Value: Equatable {}
