import VirgaModel
import VirgaWire

/// Hides the values of encrypted fields from whoever gets hold of the store without the server's key.
public protocol FieldCipher: Sendable {
  /// - Parameter place: What the bytes belong to; they open for the same place only.
  func seal(_ plain: [UInt8], for place: [UInt8]) -> [UInt8]
  /// - Returns: `nil` if the bytes were not sealed with this key for this place.
  func open(_ sealed: [UInt8], for place: [UInt8]) -> [UInt8]?
}
