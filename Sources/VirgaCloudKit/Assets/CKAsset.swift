public import Foundation
import Synchronization
package import VirgaModel

/// A file that belongs to a field of a record.
///
/// The file given to an asset must stay as it is until the record is saved. The file of a fetched asset lies in a cache
/// that may be emptied: copy or move it to keep it, and copy it to change it. Each asset's file is its own to move or delete,
/// but files with the same bytes share them, and what is written into one is in all.
public final class CKAsset: NSObject, Sendable {
  private struct State {
    var fileURL: URL?
    var value: AssetValue
  }

  private let state: Mutex<State>

  /// An asset whose bytes the next save of its record uploads.
  public init(fileURL: URL) {
    state = Mutex(State(fileURL: fileURL, value: AssetValue(fileChecksum: "", size: 0)))
  }

  package init(_ value: AssetValue, fileURL: URL? = nil) {
    state = Mutex(State(fileURL: fileURL, value: value))
  }

  /// Where the bytes are on this device; nil if a fetch left them out.
  public var fileURL: URL? { state.withLock { $0.fileURL } }

  /// What the service knows about the bytes; without a checksum before they are uploaded.
  package var model: AssetValue { state.withLock { $0.value } }

  package var isUploaded: Bool { !model.fileChecksum.isEmpty }

  /// Takes over what the service knows of the bytes; the file stays where it is.
  func finishUpload(_ value: AssetValue) { state.withLock { $0.value = value } }

  func place(at fileURL: URL) { state.withLock { $0.fileURL = fileURL } }

  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? CKAsset else { return false }
    return other === self || (other.fileURL == fileURL && other.model == model)
  }
  public override var hash: Int { state.withLock { ($0.fileURL?.hashValue ?? 0) ^ $0.value.hashValue } }
  public override var description: String { "<CKAsset \(fileURL?.path ?? model.fileChecksum)>" }
}
