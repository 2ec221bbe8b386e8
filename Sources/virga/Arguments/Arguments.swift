import Foundation
import VirgaCommandLine

/// The arguments of one command, checked against what it takes.
struct Arguments: Sendable {
  let spec: CommandSpec
  private(set) var operands: [String] = []
  private(set) var wantsHelp = false
  private var values: [String: [String]] = [:]
  /// What variables of the environment say, by option.
  private var defaults: [String: String] = [:]

  /// - Throws: If an option is unknown, lacks its value or came twice, or the operands are too many or too few.
  /// - Parameter environment: Where the values of options are that have a variable and are not given.
  init(
    _ words: [String], for spec: CommandSpec, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(Failure) {
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
    if operands.count < spec.operandsMin {
      throw .usage(spec.name, "\(spec.operands[operands.count].name) is missing")
    }
    if let most = spec.operandsMax, operands.count > most {
      throw .usage(spec.name, "unexpected argument \(operands[most])")
    }
    for option in spec.options {
      guard let variable = option.variable, let value = environment[variable], !value.isEmpty else { continue }
      defaults[option.name] = value
    }
  }

  /// Whether an option was given.
  func has(_ option: String) -> Bool { values[option] != nil }
  /// The value that was given, or that of the option's variable.
  func value(_ option: String) -> String? { values[option]?.first ?? defaults[option] }
  func values(_ option: String) -> [String] { values[option] ?? [] }

  /// A value that has to be one of a few words.
  func choice<Choice: RawRepresentable & CaseIterable>(
    _ option: String
  ) throws(Failure) -> Choice? where Choice.RawValue == String {
    guard let text = value(option) else { return nil }
    if let choice = Choice(rawValue: text) { return choice }
    let words = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    throw .usage(spec.name, "\(option) must be one of \(words), not \(text)")
  }
}
