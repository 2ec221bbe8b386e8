import Foundation
import Testing

@testable import LanternlyCore

/// How `lanternly watch` is asked to end.
struct StopSignalTests {
  private func watch(_ fleet: Fleet, saying text: String, log: String) throws -> Process {
    let watch = try fleet.start("lanternly", ["--home", fleet.home("phone"), "watch"], "phone", output: log)
    #expect(Awaiting.text(text, in: log))
    return watch
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func watchFinishesWhenItIsAskedTo(signal: Int32) throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    try fleet.lanternly("phone", "sync")
    let log = fleet.folder.path + "/watch.out"
    let watch = try watch(fleet, saying: "Watching", log: log)
    kill(watch.processIdentifier, signal)
    #expect(watch.waited == 0)
    #expect(watch.terminationReason == .exit)
    #expect(try String(contentsOfFile: log, encoding: .utf8).contains(Texts.english(.watchEnded)))
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP]) func soItDoesWhileItWaitsAsTheServerAsked(signal: Int32) throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    try fleet.store("phone").updateNotes { notes in
      notes.lastError = SyncNotes.Failure(code: "requestRateLimited", message: "", record: nil, at: .now)
      notes.lastError?.retryAt = Moment.now.after(seconds: 600)
    }
    let watch = try watch(fleet, saying: "The server asks this device to wait", log: fleet.folder.path + "/watch.out")
    kill(watch.processIdentifier, signal)
    #expect(watch.waited == 0)
    #expect(watch.terminationReason == .exit)
  }

  @Test func theEndOfTheTerminalEndsIt() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    let terminal = try TerminalProcess(
      BuiltProgram.path("lanternly"), ["--home", fleet.home("phone"), "watch"],
      environment: fleet.environment("phone").merging(["PATH": "/usr/bin:/bin"]) { old, _ in old })
    #expect(terminal.shows("Watching"), "\(terminal.screen)")
    terminal.hangUp()
    #expect(terminal.waited() == 0)
  }

  @Test func underNohupTheEndOfTheTerminalIsNothing() throws {
    let fleet = try Fleet()
    try fleet.lanternly("phone", "new", "--text", "one")
    let log = fleet.folder.path + "/watch.out"
    let watch = try BuiltProgram.start(
      "/usr/bin/nohup", [BuiltProgram.path("lanternly"), "--home", fleet.home("phone"), "watch"],
      environment: fleet.environment("phone"), output: log)
    #expect(Awaiting.text("Watching", in: log))
    kill(watch.processIdentifier, SIGHUP)
    // That nothing happens has no event: it would have ended by now.
    usleep(700_000)
    #expect(watch.isRunning)
    kill(watch.processIdentifier, SIGTERM)
    #expect(watch.waited == 0)
  }
}
