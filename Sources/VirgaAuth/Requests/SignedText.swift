package import VirgaModel

/// The texts that a device signs. Each begins with what it is for, so that a signature got for one purpose is worth
/// nothing for another, and names the server, so that one server cannot use it at another.
package enum SignedText {
  /// Shows that whoever enrols or joins holds the key.
  package static func enrolment(server: String, challenge: String, name: String) -> [UInt8] {
    text("virga enrol 1", [server, challenge, name])
  }

  package static func joining(server: String, challenge: String, code: String, name: String) -> [UInt8] {
    text("virga join 1", [server, challenge, code, name])
  }

  package static func session(server: String, challenge: String, device: DeviceID) -> [UInt8] {
    text("virga session 1", [server, challenge, device.rawValue])
  }

  /// Shows that what is sealed to `box` reaches the device that holds the key.
  package static func box(_ box: [UInt8], of device: DeviceID) -> [UInt8] {
    text("virga box 1", [device.rawValue, CanonicalBase64.encode(box)])
  }

  /// Lengths go before the parts, so that no two lists of parts give one text.
  package static func text(_ purpose: String, _ parts: [String]) -> [UInt8] {
    var text = purpose
    for part in parts { text += "\n\(part.utf8.count):\(part)" }
    return Array(text.utf8)
  }
}

extension DeviceID {
  /// The device of a key.
  package init(of key: VerifyingKey) { self.init(String(key.digest.prefix(32))) }
}
