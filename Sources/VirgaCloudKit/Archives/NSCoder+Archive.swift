import Foundation

extension NSCoder {
  /// Every archive of ours holds its value under this key, a share its terms under another: JSON, whose members later
  /// releases add to and never rename. It is written as plain bytes, and read as an `NSData` object too, which is what the
  /// first archives hold: Foundation on Linux hashes such an object byte by byte, and took three times as long.
  ///
  /// One key also keeps foreign archives harmless. Foundation on Linux stops the process when a decoder asks for a key
  /// that is missing, so the key is looked for first.
  static let valueKey = "virga"

  func archive(_ value: some Encodable, forKey key: String = valueKey) {
    do {
      archive(json: [UInt8](try Self.encoder.encode(value)), forKey: key)
    } catch {
      // Only a value of our own that cannot be written gets here.
      preconditionFailure("Cannot archive \(type(of: value)): \(error)")
    }
  }

  func archive(json: [UInt8], forKey key: String = valueKey) {
    json.withUnsafeBufferPointer { encodeBytes($0.baseAddress, length: $0.count, forKey: key) }
  }

  /// The archived value; nil if the archive holds something else.
  func archived<T: Decodable>(_ type: T.Type, forKey key: String = valueKey) -> T? {
    guard containsValue(forKey: key) else { return nil }
    let bytes = withDecodedUnsafeBytes(forKey: key) { bytes in bytes.map { Data($0) } }
    guard let data = bytes ?? decodeObject(of: NSData.self, forKey: key).map({ Data(referencing: $0) }) else {
      return nil
    }
    return try? Self.decoder.decode(type, from: data)
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
