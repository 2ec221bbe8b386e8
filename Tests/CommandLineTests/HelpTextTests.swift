import Testing
import VirgaCommandLine

@Suite struct HelpTextTests {
  @Test func aCommandsHelpHasUsageOptionsExamplesAndNotes() {
    let help = sample.commands[0].help()
    #expect(
      help == """
        Lights a lamp; it's bright. Nobody sleeps.

        Usage: lamp light LAMP-FILE [ROOM] [options]

        Options:
          --colour NAME   red [warm] or blue: 'cold'.
          --from DIR      A folder.
                          Default: $HOME.
          --log[=FORMAT]  Log.
          --note TEXT     What to say; may be repeated.
          --yes           Do not ask.
          --help          Print this and exit.

        Example:
          lamp light a.lamp --colour red

        A lamp is hot.

          lamp light a.lamp
        .not a request
        'nor this\\

        """)
  }

  @Test func theListNamesEachCommandAndGroup() {
    #expect(
      sample.commandList() == """
          light LAMP-FILE [ROOM]  Lights a lamp
          bulb …                  the bulbs of a lamp: list, change
        """)
    #expect(
      sample.commandList(of: "bulb") == """
          bulb list          Lists bulbs
          bulb change BULB…  Changes bulbs
        """)
  }

  @Test(arguments: [
    ("NAME", false, false, 1...1), ("[NAME]", true, false, 0...1), ("NAME…", false, true, 1...9),
    ("[NAME…]", true, true, 0...9),
  ])
  func operandsSayHowManyThereMayBe(text: String, isOptional: Bool, isRepeatable: Bool, counts: ClosedRange<Int>) {
    let operand = CommandSpec.Operand(text)
    #expect(operand.name == "NAME" && operand.isOptional == isOptional && operand.isRepeatable == isRepeatable)
    #expect(operand.usage == text)
    let command = CommandSpec(name: "a b", summary: "C.", operands: [operand])
    #expect(command.operandsMin == counts.lowerBound && command.operandsMax ?? 9 == counts.upperBound)
    #expect((command.operand(at: 3) != nil) == isRepeatable)
  }
}
