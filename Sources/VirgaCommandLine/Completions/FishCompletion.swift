/// Completions for fish.
struct FishCompletion {
  private let program: ProgramSpec

  init(_ program: ProgramSpec) { self.program = program }

  private var function: String { "__\(program.identifier)" }

  var text: String {
    let name = program.name
    var lines = ["complete -c \(name) -f"]
    for words in program.branches {
      let next = program.nextWords(after: words)
      for entry in next {
        lines.append(
          "complete -c \(name) -n \(condition(words, place: 0)) -a \(quoted(entry.name)) -d \(quoted(entry.text))")
      }
      let options = words.isEmpty ? program.options : []
      let help = CommandSpec.Option(name: "--help", value: nil, help: "Print the help and exit.")
      for option in options + [help] { lines.append(line(option, after: words)) }
    }
    for command in program.commands {
      for option in program.options(of: command) { lines.append(line(option, after: command.words)) }
      for (place, operand) in command.operands.enumerated() {
        guard let offer = offer(operand.values) else { continue }
        let condition = condition(command.words, place: place, isLast: !operand.isRepeatable)
        lines.append("complete -c \(name) -n \(condition) \(offer)")
      }
    }
    return """
      # Completions of \(name) for fish. \(name) wrote this file from the table of its commands.

      # The command that was typed, and how many operands follow it.
      function \(function)_typed
          set -l path
          set -l operands 0
          set -l value 0
          set -l tokens (commandline -opc)
          for word in $tokens[2..-1]
              if test $value = 1
                  set value 0
              else if string match -q -- '-*' $word
                  contains -- "$path $word" \(function)_nothing \(valueOptions)
                  and set value 1
              else if contains -- "$path $word" \(paths)
                  set path "$path $word"
              else
                  set operands (math $operands + 1)
              end
          end
          echo "$path|$operands"
      end

      # Whether a command was typed, with any operands, so many, or at least so many.
      function \(function)_at
          set -l typed (string split '|' -- (\(function)_typed))
          test "$typed[1]" = "$argv[1]"
          or return 1
          switch "$argv[2]"
              case ''
                  return 0
              case '*+'
                  test $typed[2] -ge (string replace + '' -- $argv[2])
              case '*'
                  test $typed[2] = $argv[2]
          end
      end

      \(lines.joined(separator: "\n"))

      """
  }

  private func spelled(_ words: [String]) -> String { words.map { " " + $0 }.joined() }

  private var paths: String {
    (program.branches.dropFirst() + program.commands.map(\.words)).map { quoted(spelled($0)) }.joined(separator: " ")
  }

  private var valueOptions: String {
    var found = program.options.filter(\.takesNextWord).map { quoted(" " + $0.name) }
    for command in program.commands {
      found += program.options(of: command).filter(\.takesNextWord).map {
        quoted("\(spelled(command.words)) \($0.name)")
      }
    }
    return found.joined(separator: " ")
  }

  private func condition(_ words: [String], place: Int? = nil, isLast: Bool = true) -> String {
    let count = place.map { " \($0)" + (isLast ? "" : "+") } ?? ""
    return quoted("\(function)_at \(quoted(spelled(words)))\(count)")
  }

  private func line(_ option: CommandSpec.Option, after words: [String]) -> String {
    var text = "complete -c \(program.name) -n \(condition(words)) -l \(option.name.dropFirst(2))"
    if option.value != nil {
      let offer = offer(option.values) ?? ""
      // With a value of its own word no file is offered but where the value is one.
      if option.valueIfBare == nil { text += option.values == .files ? " -r" : " -x" }
      text += offer.isEmpty ? "" : " " + offer
    }
    return text + " -d \(quoted(option.line))"
  }

  private func offer(_ values: CommandSpec.Values) -> String? {
    switch values {
    case .anything: nil
    case .files: "-F"
    case .folders: "-a '(__fish_complete_directories)'"
    case .words(let words): "-a \(quoted(words.joined(separator: " ")))"
    }
  }

  /// Within single quotes fish reads only these two.
  private func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
  }
}
