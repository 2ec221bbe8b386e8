import Foundation

extension NSCoder {
  /// Every archive of ours holds its value under this key, a share its terms under another: JSON, whose members later releases add to and never rename.
  ///
  /// One key also keeps foreign archives harmless. Foundation on Linux stops the process when a decoder asks for a key
  /// that is missing, so the key is looked for first.
  static let valueKey = "virga"

  func archive(_ value: some Encodable, forKey key: String = valueKey) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.nonConformingFloatEncodingStrategy = .virga
    do {
      encode(try encoder.encode(value) as NSData, forKey: key)
    } catch {
      // Only a value of our own that cannot be written gets here.
      preconditionFailure("Cannot archive \(type(of: value)): \(error)")
    }
  }

  /// The archived value; nil if the archive holds something else.
  func archived<T: Decodable>(_ type: T.Type, forKey key: String = valueKey) -> T? {
    guard containsValue(forKey: key), let data = decodeObject(of: NSData.self, forKey: key) else {
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
