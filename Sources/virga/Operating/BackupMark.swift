import Foundation
import VirgaAuth

/// The file by which a backup is told from a server's own folder. A server that used a backup would change it, and would
/// give its devices change tokens that tell of other changes than those which they know.
enum BackupMark {
  static let fileName = "backup.txt"

  private static let text =
    "This is a backup. To make a server's data folder from it: virga restore THIS-FOLDER --data NEW-FOLDER\n"

  static func write(to folder: String) throws(Failure) {
    do throws(SecureFileError) { try SecureFile(path: "\(folder)/\(fileName)").write(Array(text.utf8)) } catch {
      throw Storage.failure(error)
    }
  }

  /// - Throws: If the folder is a backup.
  static func refuse(_ folder: String) throws(Failure) {
    guard FileManager.default.fileExists(atPath: "\(folder)/\(fileName)") else { return }
    throw Failure(
      .unwritable, "\(folder) is a backup; to make a data folder from it: virga restore \(folder) --data DIR")
  }
}
