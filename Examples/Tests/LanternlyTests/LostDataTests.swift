import Foundation
import Testing

@testable import LanternlyCore

/// Servers that lost what they had acknowledged: the devices have it, and the server gets it back.
@Suite(.serialized)
struct LostDataTests {
  private let fleet: Fleet

  init() throws { fleet = try Fleet() }

  private func sync(_ devices: String...) throws {
    for device in devices {
      let result = try fleet.lanternly(device, "sync")
      #expect(result.code == 0, "\(device): \(result.output)")
    }
  }

  private func name(_ start: String, on device: String = "phone") throws -> String {
    try #require(try fleet.store(device).entries().first { $0.entry.text.hasPrefix(start) }).id.name
  }

  /// A phone and a laptop with the entries "one", which has a picture, and "three".
  private func begin() throws {
    let picture = try fleet.folder.write("bytes of one", to: "one.png")
    try fleet.lanternly("phone", "new", "--text", "one", "--attach", picture)
    try fleet.lanternly("phone", "new", "--text", "three")
    try sync("phone")
    try fleet.join("laptop", to: "phone")
    try sync("laptop", "phone")
  }

  /// "one" is edited, "two" is new and has a picture, "three" is deleted.
  private func goOn() throws {
    let picture = try fleet.folder.write("bytes of two", to: "two.png")
    try fleet.lanternly("phone", "edit", try name("one"), "--append", "and more", "--mood", "4")
    try fleet.lanternly("phone", "new", "--text", "two", "--attach", picture)
    try fleet.lanternly("phone", "delete", try name("three"))
    try sync("phone")
  }

  private func isWhole(_ before: [String: [String]], _ devices: String...) throws {
    for device in devices {
      #expect(try fleet.shown(device) == before, "\(device)")
      #expect(try fleet.store(device).status().state == .synced, "\(device)")
      #expect(try fleet.store(device).conflictCount() == 0, "\(device)")
    }
  }

  /// Edits go from device to device as before.
  private func editsTravel(from first: String, to second: String) throws {
    try fleet.lanternly(first, "edit", try name("one", on: first), "--append", "in the end")
    try sync(first, second)
    #expect(try fleet.shown(first) == fleet.shown(second))
    #expect(try fleet.shown(second)[name("one", on: second)]?.first?.hasSuffix("in the end") == true)
  }

  @Test(arguments: [["phone", "laptop"], ["laptop", "phone"]])
  func aRestoredServerGetsBackWhatItLost(order: [String]) throws {
    try begin()
    let backup = try fleet.backUp()
    try goOn()
    try sync("laptop")
    let before = try fleet.shown("phone")
    #expect(try fleet.shown("laptop") == before && before.count == 2)
    try fleet.restore(backup)
    try sync(order[0], order[1], order[0])
    try isWhole(before, "phone", "laptop")
    try fleet.join("tablet", to: "phone")
    try sync("tablet")
    try isWhole(before, "tablet")
    try editsTravel(from: order[1], to: order[0])
  }

  /// The device that has not heard of the lost changes is the first to meet the restored server.
  @Test(arguments: [["phone", "laptop"], ["laptop", "phone"]])
  func whatOneDeviceAloneKnowsOutlivesARestore(order: [String]) throws {
    try begin()
    try fleet.lanternly("laptop", "edit", try name("one"), "--tag", "seen")
    try sync("laptop", "phone")
    let backup = try fleet.backUp()
    try fleet.lanternly("laptop", "edit", try name("one"), "--star")
    try sync("laptop", "phone")
    try goOn()
    let before = try fleet.shown("phone")
    #expect(before.count == 2)
    try fleet.restore(backup)
    try sync(order[0], order[1], order[0])
    try isWhole(before, "phone", "laptop")
    #expect(try fleet.store("phone").entries().map(\.entry) == fleet.store("laptop").entries().map(\.entry))
    try editsTravel(from: "phone", to: "laptop")
  }

  /// What waits on a device is an edit of what the server has lost.
  @Test func anEditOfALostEntryIsSentWithIt() throws {
    try begin()
    let backup = try fleet.backUp()
    try goOn()
    try sync("laptop")
    try fleet.lanternly("phone", "edit", try name("one"), "--append", "of the phone")
    try fleet.lanternly("phone", "edit", try name("two"), "--tag", "late")
    let before = try fleet.shown("phone")
    try fleet.restore(backup)
    try sync("phone", "laptop", "phone")
    try isWhole(before, "phone", "laptop")
  }

  /// A zone that is gone is made again by the device that notices first, with what that one has.
  @Test(arguments: [["phone", "laptop"], ["laptop", "phone"]])
  func aZoneMadeAgainGetsWhatEachDeviceHas(order: [String]) throws {
    try begin()
    try goOn()
    try fleet.deleteZone(of: "phone")
    let before = try fleet.shown("phone")
    #expect(before.count == 2)
    try sync(order[0], order[1], order[0])
    try isWhole(before, "phone", "laptop")
    try editsTravel(from: order[0], to: order[1])
  }

  /// An entry that only one device had heard of, and that one was away when the zone was made again.
  @Test func aZoneMadeAgainWithoutAnEntryTakesItFromNobody() throws {
    try begin()
    let picture = try fleet.folder.write("bytes of two", to: "two.png")
    try fleet.lanternly("laptop", "new", "--text", "two", "--attach", picture)
    try sync("laptop")
    let before = try fleet.shown("laptop")
    try fleet.deleteZone(of: "phone")
    try sync("phone", "laptop", "phone")
    try isWhole(before, "phone", "laptop")
  }

  /// C18: a deletion is known to the devices that made it, whatever account they join.
  @Test(arguments: [["phone", "laptop"], ["laptop", "phone"]])
  func aDeletedEntryStaysDeletedInAnotherAccount(order: [String]) throws {
    try begin()
    try fleet.lanternly("phone", "edit", try name("one"), "--append", "and more")
    try fleet.lanternly("phone", "edit", try name("three"), "--append", "and more")
    try sync("phone")
    try fleet.lanternly("phone", "delete", try name("three"))
    try sync("phone")
    let before = try fleet.shown("phone")
    #expect(before.count == 1)
    try fleet.lanternly("tablet", "sync")
    for device in order {
      try fleet.join(device, to: "tablet", "--replace")
      try sync(device)
    }
    try sync(order[0])
    try isWhole(before, "phone", "laptop")
  }

  /// The environments of a server are two servers, and know one user by one name.
  @Test func aSyncWithTheOtherEnvironmentTakesNothingAway() throws {
    try begin()
    try goOn()
    let before = try fleet.shown("phone")
    #expect(
      try fleet.virga("phone", "schema", "deploy", "--container", DiarySync.containerIdentifier, "--yes").code == 0)
    fleet.environmentName = "production"
    try sync("laptop", "phone", "laptop")
    try isWhole(before, "phone", "laptop")
    fleet.environmentName = "development"
    try sync("phone", "laptop", "phone")
    try isWhole(before, "phone", "laptop")
    try editsTravel(from: "laptop", to: "phone")
  }
}
