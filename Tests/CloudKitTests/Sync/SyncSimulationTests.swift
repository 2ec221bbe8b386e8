import CloudKit
import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaWire

/// A fleet with everything that can go wrong: cut networks, lost answers, busy servers, kills. No edit may be lost, and
/// once all is well the devices must agree.
@Suite struct SyncSimulationTests {
  @Test(arguments: UInt64(1)...24)
  func noEditIsLostAndAllDevicesAgree(seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    let world = SyncWorld()
    var devices = (0..<3).map { world.device(automatic: true, seed: seed * 10 + UInt64($0)) }
    var expected: [String: [String: String]] = [:]
    for step in 0..<80 {
      let number = Int.random(in: 0..<3, using: &dice)
      let device = devices[number]
      switch Int.random(in: 0..<12, using: &dice) {
      case 0..<5:
        let name = "r\(Int.random(in: 0..<4, using: &dice))"
        device.edit(name, ["f\(step)": "\(number)"])
        expected[name, default: [:]]["f\(step)"] = "\(number)"
      case 5: device.link.isCut.toggle()
      case 6, 7: device.link.setFault(fault(&dice))
      case 8: devices[number] = world.device(disk: device.kill(), automatic: true, seed: seed * 1_000 + UInt64(step))
      default: world.time.pass(.milliseconds(Int.random(in: 1..<20_000, using: &dice)))
      }
    }
    for device in devices {
      device.link.isCut = false
      device.link.setFault(nil)
    }
    world.time.pass(.seconds(900))
    #expect(try world.serverRows() == expected, "seed \(seed)")
    for device in devices {
      #expect(device.rows == expected, "seed \(seed)")
      #expect(device.pending == [], "seed \(seed)")
      #expect(device.engine.status.isUpToDate, "seed \(seed)")
    }
  }

  /// One fault for the requests of the next while, each with its own chance.
  private func fault(_ dice: inout SplitMix64) -> @Sendable (String, Int) -> Link.Fault? {
    let faults: [Link.Fault] = [
      .cut, .lostAnswer, .silence, .refusal(ServiceError(.tryAgainLater, "busy", retryAfterSeconds: 3)),
      .refusal(ServiceError(.throttled, "slow down", retryAfterSeconds: 1)),
      .refusal(ServiceError(.internalError, "broken")),
    ]
    let fault = faults[Int.random(in: 0..<faults.count, using: &dice)]
    let salt = UInt64.random(in: .min ... .max, using: &dice)
    return { operation, number in
      // A request that hangs is ended by a kill alone here, so only the poll may.
      if case .silence = fault, operation != "push" { return nil }
      var chance = SplitMix64(seed: salt &+ UInt64(number) &* 31 &+ UInt64(operation.utf8.count))
      return Int.random(in: 0..<3, using: &chance) == 0 ? fault : nil
    }
  }
}
