import Foundation
import Testing

@testable import LanternlyCore

/// The devices of an account, from the diary's own program.
@Suite(.serialized)
struct AccountDevicesTests {
  /// Without `VIRGA_HOME` each folder is a device, with it the variable names it.
  private func fleet(names devices: String...) throws -> Fleet {
    let fleet = try Fleet()
    fleet.overrides = ["VIRGA_HOME": ""]
    for device in devices { try fleet.lanternly(device, "new", "--text", "of \(device)") }
    return fleet
  }

  /// What stands behind a word in the output of a program that goes on.
  private func waits(for start: String, in log: String) throws -> String {
    if let rest = Awaiting.line(start, in: log) { return rest }
    throw Fleet.Failure(text: "\(start) is not shown: \(Awaiting.read(log))")
  }

  private func join(_ fleet: Fleet, _ device: String, to host: String, _ options: String...) throws -> Fleet.Result {
    let log = fleet.folder.path + "/\(UUID().uuidString).out"
    let invitation = try fleet.start("lanternly", ["--home", fleet.home(host), "invite", "--yes"], host, output: log)
    defer { if invitation.isRunning { invitation.terminate() } }
    let code = try waits(for: "Code: ", in: log)
    let words = ["--home", fleet.home(device), "join", code] + options
    let result = try fleet.run("lanternly", words, device)
    if result.code == 0 {
      invitation.waitUntilExit()
      #expect(invitation.terminationStatus == 0)
    }
    return result
  }

  @Test func aDeviceJoinsByTheDiarysOwnCommands() throws {
    let fleet = try fleet(names: "phone", "laptop")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(
      try fleet.lanternly("phone", "join", "WRNG-CDE2", "--replace").output.contains(
        "The code is wrong, used or too old."))
    let joined = try join(fleet, "laptop", to: "phone")
    #expect(joined.code == 0, "\(joined.output)")
    #expect(
      joined.output.contains(
        "Joined as laptop; the account has 2 devices. To bring the diaries together: lanternly --home "))
    for device in ["laptop", "phone"] { #expect(try fleet.lanternly(device, "sync").code == 0) }
    #expect(try fleet.shown("phone") == fleet.shown("laptop") && fleet.shown("phone").count == 2)
    let devices = try fleet.lanternly("laptop", "devices").output
    #expect(devices.contains(#/^  phone  .*\n\* laptop  /#), "\(devices)")
    #expect(try fleet.lanternly("laptop", "devices", "--json").output.contains(#""name" : "laptop""#))
    let status = try fleet.lanternly("phone", "status").output
    #expect(status.contains("(device phone)\nAccount: ") && status.contains(", 2 devices\n"), "\(status)")
    let json = try fleet.lanternly("phone", "status", "--json").output
    #expect(json.contains(#""devices" : 2"#) && json.contains(#""account" : ""#))
    // Who has an account says so before it leaves it.
    let again = try join(fleet, "laptop", to: "phone")
    #expect(again.code == 1)
    #expect(
      again.output.contains(
        "To leave it and join the other one: lanternly --home \(fleet.home("laptop")) join CODE --replace"))
  }

  @Test func twoDevicesOfOneNameGetDifferentOnes() throws {
    let fleet = try Fleet()
    fleet.overrides = ["VIRGA_HOME": ""]
    for folder in ["one/diary", "two/diary"] { try fleet.lanternly(folder, "new", "--text", "in \(folder)") }
    #expect(try fleet.lanternly("one/diary", "sync").code == 0)
    #expect(try join(fleet, "two/diary", to: "one/diary").output.contains("Joined as diary 2;"))
    #expect(try fleet.lanternly("two/diary", "sync").code == 0)
    #expect(try fleet.lanternly("two/diary", "device", "name").output == "diary 2\n")
    #expect(try fleet.store("one/diary").deviceName() == "diary")
    // What it wrote under its former name is its own all the same.
    #expect(try fleet.store("two/diary").isMine("diary") && fleet.store("two/diary").isMine("diary 2"))
    #expect(try !fleet.store("one/diary").isMine("diary 2"))
  }

  @Test func aNameReachesTheOthersAtOnceOrWithTheNextSync() throws {
    let fleet = try fleet(names: "phone", "laptop")
    // Before there is an account nobody is asked for one.
    #expect(try fleet.lanternly("laptop", "device", "name", "desk").output == "This device is called desk.\n")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try join(fleet, "laptop", to: "phone").output.contains("Joined as desk;"))
    #expect(try fleet.lanternly("laptop", "device", "name", "kitchen").output == "This device is called kitchen.\n")
    #expect(try fleet.lanternly("phone", "devices").output.contains("  kitchen  "))
    #expect(try fleet.lanternly("laptop", "device", "name", "phone").output == "This device is called phone 2.\n")
    fleet.stopServer(SIGTERM)
    let later = try fleet.lanternly("laptop", "device", "name", "hall")
    #expect(
      later.code == 0 && later.output.contains("The other devices see the name after the next sync: "),
      "\(later.output)")
    try fleet.startServer()
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.lanternly("phone", "devices").output.contains("  hall  "))
    for name in ["", " ", "a\u{1B}[31m", String(repeating: "a", count: 65)] {
      #expect(try fleet.lanternly("laptop", "device", "name", name).code == ExitCode.usage.rawValue)
    }
    #expect(try fleet.lanternly("laptop", "device", "rename").code == ExitCode.usage.rawValue)
  }

  /// The folder that is named is one device, and a home that is set is another's.
  @Test func aHomeThatIsSetWins() throws {
    let fleet = try fleet(names: "phone")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(FileManager.default.fileExists(atPath: fleet.home("phone") + "/virga/device.key"))
    let own = fleet.folder.path + "/own"
    fleet.overrides = ["VIRGA_HOME": own]
    #expect(try fleet.lanternly("tablet", "new", "--text", "of the tablet").code == 0)
    #expect(try fleet.lanternly("tablet", "sync").code == 0)
    #expect(FileManager.default.fileExists(atPath: own + "/device.key"))
    #expect(!FileManager.default.fileExists(atPath: fleet.home("tablet") + "/virga"))
  }

  @Test func aServerThatIsNamedIsRemembered() throws {
    let fleet = try fleet(names: "phone", "laptop")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    let url = fleet.url
    fleet.overrides = ["VIRGA_HOME": "", "VIRGA_ENDPOINT": ""]
    try fleet.folder.write(#"{"endpoint": "\#(url)"}"#, to: "phone/virga/config.json")
    #expect(try join(fleet, "laptop", to: "phone", "--server", url).code == 0)
    #expect(try fleet.lanternly("laptop", "sync").code == 0)
    #expect(try fleet.shown("laptop").count == 2)
    let nowhere = try fleet.lanternly("tablet", "join", "ABCD-EFGH", "--server", "http://127.0.0.1:9")
    #expect(nowhere.code == ExitCode.notSynced.rawValue)
    #expect(nowhere.output.contains("The server http://127.0.0.1:9 cannot be reached: "), "\(nowhere.output)")
  }

  /// The clock is compared with each sync, not only when something is sent.
  @Test func theClockIsComparedWithEachSync() throws {
    let fleet = try fleet(names: "phone")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    let store = try fleet.store("phone")
    #expect(try store.notes().clockSkewSeconds == nil)
    try store.updateNotes { $0.clockSkewSeconds = 7_500 }
    let status = try fleet.lanternly("phone", "status").output
    #expect(status.contains("This device's clock is 2 hours and 5 minutes ahead of the server's."), "\(status)")
    #expect(try fleet.lanternly("phone", "sync").code == 0)
    #expect(try store.notes().clockSkewSeconds == nil)
  }
}
