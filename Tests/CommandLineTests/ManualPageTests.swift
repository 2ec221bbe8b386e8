import Foundation
import TestSupport
import Testing
import VirgaCommandLine

/// The pages, as the programs that show them read them.
@Suite(.timeLimit(.minutes(1))) struct ManualPageTests {
  @Test func aProgramHasOnePageOrOneForEachFirstWord() {
    #expect(ManualPage.all(of: sample, isSplit: false).map(\.fileName) == ["lamp.1"])
    #expect(
      ManualPage.all(of: sample, isSplit: true).map(\.fileName) == ["lamp.1", "lamp-light.1", "lamp-bulb.1"])
  }

  @Test(arguments: [false, true]) func mandocFindsNoFault(isSplit: Bool) throws {
    guard let mandoc = ShellRun.path(of: "mandoc") else { return }
    let run = try ShellRun()
    defer { run.remove() }
    for page in ManualPage.all(of: sample, isSplit: isSplit) {
      let file = try run.write(page.text, to: page.fileName)
      let end = try run.run(mandoc, ["-T", "lint", "-W", "warning", file])
      #expect(end.code == 0 && end.output.isEmpty, "\(end.output)\(page.text)")
    }
  }

  @Test func manShowsWhatTheTableSays() throws {
    guard let man = ShellRun.path(of: "man") else { return }
    let run = try ShellRun()
    defer { run.remove() }
    let file = try run.write(ManualPage.all(of: sample, isSplit: false)[0].text, to: "lamp.1")
    let end = try run.run(man, ["--warnings", "-E", "utf-8", "-l", file])
    #expect(end.code == 0 && end.errors.isEmpty, "\(end.errors)")
    let shown = end.output.replacing(/.\u{8}/, with: "").replacing(/\u{1B}\[[0-9;]*m/, with: "")
    for part in [
      "lamp - Lights lamps, near and far", "lamp light LAMP-FILE [ROOM] [options]", "--colour NAME",
      "red [warm] or blue: 'cold'.", "lamp bulb change BULB…", ".not a request", #"'nor this\"#, "LAMP_HOME",
      "  lamp light a.lamp --colour red", "--log[=FORMAT]",
    ] {
      #expect(shown.contains(part), "\(part) is not in:\n\(shown)")
    }
  }
}
