import Foundation

extension NSCoder {
  /// Every archive of ours holds one value under this key: JSON, whose members later releases add to and never rename.
  ///
  /// One key also keeps foreign archives harmless. Foundation on Linux stops the process when a decoder asks for a key
  /// that is missing, so the key is looked for first.
  private static let key = "virga"

  func archive(_ value: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .virga
    do {
      encode(try encoder.encode(value) as NSData, forKey: Self.key)
    } catch {
      // Only a value of our own that cannot be written gets here.
      preconditionFailure("Cannot archive \(type(of: value)): \(error)")
    }
  }

  /// The archived value; nil if the archive holds something else.
  func archived<T: Decodable>(_ type: T.Type) -> T? {
    guard containsValue(forKey: Self.key), let data = decodeObject(of: NSData.self, forKey: Self.key) else {
      return nil
    }
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .virga
    return try? decoder.decode(type, from: Data(referencing: data))
  }
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
