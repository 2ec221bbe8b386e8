import Foundation

extension NSCoder {
  /// Every archive of ours holds its value under this key, a share its terms under another: JSON, whose members later
  /// releases add to and never rename, or the bytes of a `SystemFieldsArchive`. It is written as plain bytes, and read as an `NSData` object too, which is what the
  /// first archives hold: Foundation on Linux hashes such an object byte by byte, and took three times as long.
  ///
  /// One key also keeps foreign archives harmless. Foundation on Linux stops the process when a decoder asks for a key
  /// that is missing, so the key is looked for first.
  static let valueKey = "virga"

  func archive(_ value: some Encodable, forKey key: String = valueKey) {
    do {
      archive(bytes: [UInt8](try Self.encoder.encode(value)), forKey: key)
    } catch {
      // Only a value of our own that cannot be written gets here.
      preconditionFailure("Cannot archive \(type(of: value)): \(error)")
    }
  }

  func archive(bytes: [UInt8], forKey key: String = valueKey) {
    bytes.withUnsafeBufferPointer { encodeBytes($0.baseAddress, length: $0.count, forKey: key) }
  }

  /// The archived value; nil if the archive holds something else.
  func archived<T: Decodable>(_ type: T.Type, forKey key: String = valueKey) -> T? {
    archivedBytes(forKey: key).flatMap { try? Self.decoder.decode(type, from: Data($0)) }
  }

  /// What is archived under the key; nil if that is not bytes.
  func archivedBytes(forKey key: String = valueKey) -> [UInt8]? {
    guard containsValue(forKey: key) else { return nil }
    return withDecodedUnsafeBytes(forKey: key) { bytes in bytes.map { [UInt8]($0) } }
      ?? decodeObject(of: NSData.self, forKey: key).map { [UInt8](Data(referencing: $0)) }
  }

  private static let encoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .virga
    return encoder
  }()

  private static let decoder = {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .virga
    return decoder
  }()
}

extension JSONEncoder.NonConformingFloatEncodingStrategy {
  fileprivate static var virga: Self {
    .convertToString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  }
}

extension JSONDecoder.NonConformingFloatDecodingStrategy {
  fileprivate static var virga: Self {
    .convertFromString(positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
  }
}
