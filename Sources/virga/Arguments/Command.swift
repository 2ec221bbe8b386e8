import VirgaCommandLine

/// A command of the program: what it takes, and what it does.
struct Command: Sendable {
  let spec: CommandSpec
  let run: @Sendable (Arguments) async throws -> Void

  init(_ spec: CommandSpec, _ run: @escaping @Sendable (Arguments) async throws -> Void) {
    var spec = spec
    spec.examples = CommandExamples.all[spec.name] ?? []
    self.spec = spec
    self.run = run
  }
}
