/// Completions for bash. They need nothing but bash itself.
struct BashCompletion {
  private let program: ProgramSpec

  init(_ program: ProgramSpec) { self.program = program }

  var text: String {
    let name = "_\(program.identifier)"
    return """
      # Completions of \(program.name) for bash. \(program.name) wrote this file from the table of its commands.
      \(name)() {
        local current=${COMP_WORDS[COMP_CWORD]} path='' word='' option='' operands=0 over='' i
        # bash parts --option=value into three words.
        [[ $current == = ]] && current=''
        for ((i = 1; i < COMP_CWORD; i++)); do
          word=${COMP_WORDS[i]}
          if [[ -n $option ]]; then
            [[ $word == = ]] || option=''
          elif [[ -n $over ]]; then
            operands=$((operands + 1))
          elif [[ $word == -- ]]; then
            over=1
          elif [[ $word == -* ]]; then
            \(name)_value "$path" "$word" && option=$word
            [[ ${COMP_WORDS[i + 1]} == = ]] && option=$word
          elif \(name)_next "$path" "$word"; then
            path="$path$word "
          elif [[ $word != = ]]; then
            operands=$((operands + 1))
          fi
        done
        COMPREPLY=()
        if [[ -n $option ]]; then
          \(name)_values "$path$option" "$current"
        elif [[ $current == -* && -z $over ]]; then
          \(name)_options "$path"
          COMPREPLY=($(compgen -W "$REPLY" -- "$current"))
        else
          \(name)_values "$path$operands" "$current"
        fi
      }
      # Whether a word goes on with a command.
      \(name)_next() {
        case "$1$2" in
      \(cases(paths.dropFirst().map { (spelled($0, isWhole: false), "return 0") }))
        esac
        return 1
      }
      # Whether the next word is the value of an option.
      \(name)_value() {
        case "$1$2" in
      \(cases(valueOptions.map { ($0, "return 0") }))
        esac
        return 1
      }
      # The options of a command.
      \(name)_options() {
        case "$1" in
      \(cases(paths.map { (spelled($0, isWhole: true), "REPLY='\(optionNames(after: $0))'") }))
          *) REPLY='' ;;
        esac
      }
      # What may stand for the value of an option or in the place of an operand.
      \(name)_values() {
        case "$1" in
      \(cases(values.map { ($0.0, offer($0.1)) }))
        esac
      }
      complete -F \(name) \(program.name)

      """
  }

  /// The beginnings of commands and the commands, the empty one first.
  private var paths: [[String]] {
    var found = program.branches
    for command in program.commands where !found.contains(command.words) { found.append(command.words) }
    return found
  }

  private func spelled(_ words: [String], isWhole: Bool) -> String {
    words.joined(separator: " ") + (isWhole && !words.isEmpty ? " " : "")
  }

  private func command(_ words: [String]) -> CommandSpec? { program.commands.first { $0.words == words } }

  private func options(after words: [String]) -> [CommandSpec.Option] {
    guard let command = command(words) else {
      return program.options + [CommandSpec.Option(name: "--help", value: nil, help: "")]
    }
    return program.options(of: command)
  }

  private func optionNames(after words: [String]) -> String {
    options(after: words).map(\.name).joined(separator: " ")
  }

  /// Options with a value of their own word, after their command's words.
  private var valueOptions: [String] {
    paths.flatMap { words in
      options(after: words).filter(\.takesNextWord).map { spelled(words, isWhole: true) + $0.name }
    }
  }

  /// What stands for a value: after a command's words the option, or the number of operands before.
  private var values: [(String, CommandSpec.Values)] {
    paths.flatMap { words -> [(String, CommandSpec.Values)] in
      let head = spelled(words, isWhole: true)
      var found = options(after: words).filter { $0.value != nil }.map { (head + $0.name, $0.values) }
      let next = program.nextWords(after: words).map(\.name)
      if !next.isEmpty { found.append((head + "0", .words(next))) }
      for (place, operand) in (command(words)?.operands ?? []).enumerated() {
        found.append((head + "\(place)", operand.values))
      }
      return found
    }.filter { $0.1 != .anything }
  }

  private func offer(_ values: CommandSpec.Values) -> String {
    switch values {
    case .anything: ":"
    case .files: #"compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$2")"#
    case .folders: #"compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$2")"#
    case .words(let words): #"COMPREPLY=($(compgen -W \#(shellQuoted(words.joined(separator: " "))) -- "$2"))"#
    }
  }

  /// The branches of a `case`; those that do the same are one.
  private func cases(_ branches: [(String, String)]) -> String {
    var order: [String] = []
    var patterns: [String: [String]] = [:]
    for (pattern, action) in branches {
      if patterns[action] == nil { order.append(action) }
      patterns[action, default: []].append(shellQuoted(pattern))
    }
    return order.map { action in "    \(patterns[action, default: []].joined(separator: " | ")))\n      \(action) ;;" }
      .joined(separator: "\n")
  }
}
