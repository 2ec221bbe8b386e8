public import Foundation
import VirgaModel

extension CKAsset: NSSecureCoding {
  /// Where the file is, and what the service knows of it. The bytes themselves are not archived.
  private struct Archived: Codable {
    var path: String?
    var asset: ArchivedAsset?
  }

  public static var supportsSecureCoding: Bool { true }

  public convenience init?(coder: NSCoder) {
    if let archived = coder.archived(Archived.self) {
      let asset = archived.asset?.model ?? AssetValue(fileChecksum: "", size: 0)
      self.init(asset, fileURL: archived.path.map { URL(fileURLWithPath: $0) })
    } else if coder.containsValue(forKey: "AssetFileURL") {
      // One of Apple's. No other server has its bytes under that signature, so the next save uploads the file.
      let size = coder.appleInteger("AssetSize") ?? 0
      let file = coder.appleObject(NSURL.self, "AssetFileURL").flatMap(\.absoluteString).flatMap(URL.init(string:))
      self.init(AssetValue(fileChecksum: "", size: size), fileURL: file)
    } else {
      return nil
    }
  }

  public func encode(with coder: NSCoder) {
    coder.archive(Archived(path: fileURL?.path, asset: isUploaded ? ArchivedAsset(model) : nil))
  }
}
