/// A program and all its commands.
public struct ProgramSpec: Sendable {
  /// Commands whose first word is the same: `virga records …`.
  public struct Group: Sendable {
    /// The commands' first word.
    public var name: String
    /// A phrase for the list of commands.
    public var brief: String
    /// Makes a group of the commands with that first word.
    public init(_ name: String, _ brief: String) {
      self.name = name
      self.brief = brief
    }
  }

  /// Something by name and what it means: a variable, an exit code, a file.
  public struct Entry: Sendable {
    /// What is explained.
    public var name: String
    /// What it means, in sentences.
    public var text: String
    /// Makes an entry of the lists in the manual.
    public init(_ name: String, _ text: String) {
      self.name = name
      self.text = text
    }
  }

  /// The program's name, as typed.
  public var name: String
  /// The program's version.
  public var version: String
  /// The day of that version, such as `2026-12-01`; pages show it.
  public var date: String
  /// One sentence.
  public var summary: String
  /// The groups that the list of commands has.
  public var groups: [Group]
  /// In the order of the help.
  public var commands: [CommandSpec]
  /// Options that may stand before the command as well as after it.
  public var options: [CommandSpec.Option]
  /// The variables that the program reads.
  public var environment: [Entry]
  /// What the program ends with, and when.
  public var exitCodes: [Entry]
  /// The files that the program reads and writes.
  public var files: [Entry]

  /// Makes a program of its commands.
  public init(
    name: String, version: String, date: String, summary: String, groups: [Group] = [], commands: [CommandSpec],
    options: [CommandSpec.Option] = [], environment: [Entry] = [], exitCodes: [Entry] = [], files: [Entry] = []
  ) {
    self.name = name
    self.version = version
    self.date = date
    self.summary = summary
    self.groups = groups
    self.commands = commands
    self.options = options
    self.environment = environment
    self.exitCodes = exitCodes
    self.files = files
  }

  /// The first words of the commands, each once, in their order.
  public var firstWords: [String] {
    var words: [String] = []
    for word in commands.compactMap(\.words.first) where !words.contains(word) { words.append(word) }
    return words
  }

  /// The commands whose words begin so.
  public func commands(below words: [String]) -> [CommandSpec] {
    commands.filter { $0.words.starts(with: words) }
  }

  /// The words that may follow these, each with a phrase.
  public func nextWords(after words: [String]) -> [Entry] {
    var entries: [Entry] = []
    for command in commands(below: words) where command.words.count > words.count {
      let word = command.words[words.count]
      guard !entries.contains(where: { $0.name == word }) else { continue }
      let isWhole = command.words.count == words.count + 1
      entries.append(
        Entry(word, isWhole ? command.brief : groups.first { $0.name == word }?.brief ?? command.brief))
    }
    return entries
  }

  /// All beginnings of commands, the empty one first, that are no commands by themselves.
  var branches: [[String]] {
    var found: [[String]] = [[]]
    for command in commands {
      for count in 1..<max(command.words.count, 1) {
        let branch = Array(command.words.prefix(count))
        if !found.contains(branch) { found.append(branch) }
      }
    }
    return found
  }
}
