package import VirgaModel
import VirgaWire

extension Accounts {
  /// Gives a device of the account another name. One that another device has gets a number behind it.
  /// - Throws: `NOT_FOUND` if the account has no such device.
  package func rename(
    _ id: DeviceID, of account: AccountID, to name: String, in transaction: any WriteTransaction
  ) throws {
    let devices = try devices(of: account, in: transaction)
    guard var device = devices.first(where: { $0.id == id }) else {
      throw ServiceError(.notFound, AccountReason.deviceNotFound)
    }
    device.name = name
    device.name = device.freeName(among: devices)
    try put(device, in: transaction)
  }
}

extension Device {
  /// The device's name, or that with the first number behind it that no other device has: people tell devices by their names.
  package func freeName(among devices: [Device]) -> String {
    let taken = Set(devices.filter { $0.id != id }.map(\.name))
    if !taken.contains(name) { return name }
    var number = 2
    while true {
      let ending = " \(number)"
      let candidate = String(name.prefix(Limits.deviceNameLengthMax - ending.count)) + ending
      if !taken.contains(candidate) { return candidate }
      number += 1
    }
  }
}
