import VirgaCommandLine

/// A program with all that a table can say, and with characters that shells and roff read as something else.
let sample = ProgramSpec(
  name: "lamp", version: "1.2", date: "2026-12-01", summary: "Lights lamps, near and far.",
  groups: [.init("bulb", "the bulbs of a lamp")],
  commands: [
    CommandSpec(
      name: "lamp light", summary: "Lights a lamp; it's bright. Nobody sleeps.", operands: ["LAMP-FILE", "[ROOM]"],
      options: [
        .init(name: "--colour", value: "NAME", help: "red [warm] or blue: 'cold'.", values: .words(["red", "blue"])),
        .init(name: "--from", value: "DIR", help: "A folder.\nDefault: $HOME."),
        .init(name: "--log", value: "FORMAT", help: "Log.", valueIfBare: "text", values: .words(["text", "json"])),
        .init(name: "--note", value: "TEXT", help: "What to say; may be repeated.", isRepeatable: true),
        .init(name: "--yes", value: nil, help: "Do not ask."),
      ],
      notes: "A lamp is hot.\n\n  lamp light a.lamp\n.not a request\n'nor this\\",
      examples: ["lamp light a.lamp --colour red"]),
    CommandSpec(name: "lamp bulb list", summary: "Lists bulbs."),
    CommandSpec(
      name: "lamp bulb change", summary: "Changes bulbs.", operands: ["BULB…"],
      options: [.init(name: "--with", value: "FILE", help: "The new one.")]),
  ],
  options: [.init(name: "--home", value: "DIR", help: "Where lamps are kept.")],
  environment: [.init("LAMP_HOME", "Where lamps are kept.")], exitCodes: [.init("0", "done")],
  files: [.init("~/.lamp", "Lamps.")])
