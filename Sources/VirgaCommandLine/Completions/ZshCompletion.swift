/// Completions for zsh, as a function that `compinit` finds.
struct ZshCompletion {
  private let program: ProgramSpec

  init(_ program: ProgramSpec) { self.program = program }

  var text: String {
    let functions =
      program.branches.map(branch).joined(separator: "\n") + "\n"
      + program.commands.map(leaf).joined(separator: "\n")
    return """
      #compdef \(program.name)
      # Completions of \(program.name) for zsh. \(program.name) wrote this file from the table of its commands.

      \(functions)
      # Called by the completion system, or read by a file that a user sources.
      if [[ $funcstack[1] == _\(program.identifier) ]]; then
        _\(program.identifier) "$@"
      else
        compdef _\(program.identifier) \(program.name)
      fi

      """
  }

  private func function(_ words: [String]) -> String {
    (["_" + program.identifier] + words).joined(separator: "__").replacing("-", with: "_")
  }

  /// A function that offers the next word of a command, and hands the rest to the function of that.
  private func branch(_ words: [String]) -> String {
    let next = program.nextWords(after: words)
    let entries = next.map { "    \(shellQuoted($0.name.replacing(":", with: #"\:"#) + ":" + $0.text))" }
    let options = (words.isEmpty ? program.options : []).map { "    \(spec($0)) \\\n" }.joined()
    let calls = next.map { "        \($0.name)) \(function(words + [$0.name])) ;;" }
    return """
      \(function(words))() {
        local curcontext=$curcontext state line
        typeset -A opt_args
        local -a entries=(
      \(entries.joined(separator: "\n"))
        )
        _arguments -C \\
      \(options)    '(- *)--help[Print the help and exit.]' \\
          '1: :->word' \\
          '*:: :->rest'
        case $state in
          word) _describe -t commands command entries ;;
          rest)
            case $words[1] in
      \(calls.joined(separator: "\n"))
            esac ;;
        esac
      }
      """
  }

  /// A function that offers the options and operands of a command.
  private func leaf(_ command: CommandSpec) -> String {
    var specs = program.options(of: command).map(spec)
    for (place, operand) in command.operands.enumerated() {
      let head = operand.isRepeatable ? "*" : "\(place + 1)"
      let colons = operand.isOptional && !operand.isRepeatable ? "::" : ":"
      specs.append(shellQuoted("\(head)\(colons)\(escaped(operand.name)):\(action(operand.values))"))
    }
    return """
      \(function(command.words))() {
        _arguments -s \\
      \(specs.map { "    " + $0 }.joined(separator: " \\\n"))
      }
      """
  }

  private func spec(_ option: CommandSpec.Option) -> String {
    if option.name == "--help" { return shellQuoted("(- *)--help[\(escaped(option.line))]") }
    var text = (option.isRepeatable ? "*" : "") + option.name
    if option.value != nil { text += option.valueIfBare == nil ? "=" : "=-" }
    text += "[\(escaped(option.line))]"
    if let value = option.value {
      text += (option.valueIfBare == nil ? ":" : "::") + escaped(value) + ":" + action(option.values)
    }
    return shellQuoted(text)
  }

  private func action(_ values: CommandSpec.Values) -> String {
    switch values {
    case .anything: " "
    case .files: "_files"
    case .folders: "_files -/"
    case .words(let words): "(\(words.joined(separator: " ")))"
    }
  }

  private func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
      .replacing(":", with: "\\:")
  }
}
