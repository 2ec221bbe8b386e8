import Foundation
import Glibc
import VirgaAuth
import VirgaHTTP

/// Where a server listens and keeps its data. It writes so beside its data, and under its port in a folder of the user
/// who started it: so the operator's commands find the server, and the key of its folder, by themselves.
struct RunningServer: Codable, Hashable {
  /// Where programs of this machine reach it.
  var endpoint: String
  /// Where it has its key; missing in the file beside the data.
  var folder: String?
  /// Where clients reach it, if that is elsewhere.
  var baseURL: String?

  init(endpoint: String, folder: String, baseURL: String? = nil) {
    self.endpoint = endpoint
    self.folder = folder
    self.baseURL = baseURL
  }

  // MARK: Beside the data

  private static func file(in folder: String) -> SecureFile {
    SecureFile(path: folder + "/server.json", content: .settings)
  }

  func write(to folder: String) throws(Failure) {
    do {
      var shown = self
      shown.folder = nil
      try Self.file(in: folder).write(try shown.bytes())
    } catch {
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

  // MARK: In the user's folder

  /// `$XDG_STATE_HOME/virga/servers`; `nil` for a user without a home.
  static func register(environment: [String: String] = ProcessInfo.processInfo.environment) -> String? {
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return state + "/virga/servers" }
    let home = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? passwordHome
    return home.map { $0 + "/.local/state/virga/servers" }
  }

  private static var passwordHome: String? {
    guard let entry = getpwuid(geteuid()), let home = entry.pointee.pw_dir else { return nil }
    return String(cString: home)
  }

  private var registration: SecureFile? {
    guard let folder = Self.register(), let port = URLComponents(string: endpoint)?.port else { return nil }
    return SecureFile(path: "\(folder)/\(port).json", content: .settings)
  }

  /// Notes the server for its user's commands. It runs as well without that, as where its user has no home.
  /// - Returns: Whether the commands will find it.
  func enlist() -> Bool {
    guard let file = registration, let bytes = try? bytes() else { return false }
    Self.tidy(otherThan: self)
    do {
      try FileManager.default.createDirectory(
        atPath: (file.path as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
        attributes: [.posixPermissions: NSNumber(value: 0o700)])
      try file.write(bytes)
      return true
    } catch {
      return false
    }
  }

  /// Drops what killed servers left: of folders that are gone, and of the folder that a server uses elsewhere now.
  private static func tidy(otherThan server: RunningServer) {
    for (file, noted) in all()
    where noted.folder.map({ !FileManager.default.fileExists(atPath: $0) }) ?? true
      || noted.folder == server.folder
    {
      unlink(file.path)
    }
  }

  private static func all() -> [(file: SecureFile, server: RunningServer)] {
    guard let folder = register(), let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      return []
    }
    return names.sorted().compactMap { name in
      let file = SecureFile(path: "\(folder)/\(name)", content: .settings)
      return read(file).map { (file, $0) }
    }
  }

  func delist() {
    // Another server may have taken the port in the meantime.
    guard let file = registration, Self.read(file) == self else { return }
    unlink(file.path)
  }

  /// The server of this user that was last noted for an address: where it listens, or where clients find it.
  static func find(at endpoint: String) -> RunningServer? {
    let servers = all().map(\.server)
    let asked = URLComponents(string: endpoint)
    let isLocal = ServedNames(baseURL: endpoint).isPublic == false
    return servers.first { $0.endpoint == endpoint }
      ?? servers.first { isLocal && asked?.port != nil && URLComponents(string: $0.endpoint)?.port == asked?.port }
      ?? servers.first { $0.baseURL == endpoint }
  }

  private static func read(_ file: SecureFile) -> RunningServer? {
    guard let bytes = try? file.read() else { return nil }
    return try? JSONDecoder().decode(RunningServer.self, from: Data(bytes))
  }

  private func bytes() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }
}
