import Foundation
import VirgaAuth

/// Where the server that uses a data folder listens. It writes so beside its data, for the operator's commands.
struct RunningServer: Codable, Hashable {
  var endpoint: String

  private static func file(in folder: String) -> SecureFile {
    SecureFile(path: folder + "/server.json", content: .settings)
  }

  func write(to folder: String) throws(Failure) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { try Self.file(in: folder).write(Array(try encoder.encode(self))) } catch {
      if case SecureFileError.full = error { throw Failure(.full, "\(error)") }
      throw Failure(.unwritable, "\(folder)/server.json cannot be written: \(error)")
    }
  }

  /// - Returns: `nil` if no server wrote where it is, or not in a form that this version reads. A server that was killed
  ///   leaves an old one behind: whoever asks there has to find out whether it is the right server.
  static func read(from folder: String) throws(SecureFileError) -> RunningServer? {
    guard let bytes = try file(in: folder).read() else { return nil }
    return try? JSONDecoder().decode(RunningServer.self, from: Data(bytes))
  }

  static func remove(from folder: String) { unlink(file(in: folder).path) }
}
