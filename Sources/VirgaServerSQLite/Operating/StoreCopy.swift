import FoundationEssentials
import Glibc
import VirgaServer

/// Copies a store's database and the files of its assets into a folder of their own, while a server may be using them.
///
/// The files come first: one that the database names is then in the copy, even if the server removes it meanwhile. What
/// arrives after that is too young for a server to remove.
package struct StoreCopy {
  private let source: String
  private let target: String
  private let database: String

  /// Whether the target was made for the copy.
  private let isMade: Bool

  /// Begins a copy.
  /// - Parameter isRestored: Whether the copy becomes the folder of a server. It then is none until `finishRestoring`.
  /// - Throws: `.unwritable` unless the target is missing or empty.
  package init(from source: String, to target: String, isRestored: Bool = false) throws {
    let files = FileManager.default
    if let names = try? files.contentsOfDirectory(atPath: target), !names.isEmpty {
      throw StoreError.unwritable(
        "\(target) is not empty: \(isRestored ? "restore into" : "copy to") a new or empty folder")
    }
    self.source = source
    self.target = target
    isMade = access(target, F_OK) != 0
    let place = isRestored ? "\(target)/\(DataFile.restoring)" : target
    database = "\(place)/\(DataFile.database)"
    do {
      for folder in [place, "\(target)/\(DataFile.assets)"] {
        try files.createDirectory(
          atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      }
      chmod(target, 0o700)
    } catch {
      throw StoreError.unwritable("\(target) cannot be made")
    }
  }

  /// Takes back what was copied so far, so that nobody takes a part for the whole.
  package func discard() {
    let files = FileManager.default
    if isMade {
      try? files.removeItem(atPath: target)
    } else {
      for name in (try? files.contentsOfDirectory(atPath: target)) ?? [] {
        try? files.removeItem(atPath: "\(target)/\(name)")
      }
    }
  }

  /// Links the files that are there, or copies them where the folders are on two file systems.
  /// - Parameter progress: Is told how many files are done, of how many.
  package func copyFiles(progress: (Int, Int) -> Void = { _, _ in }) throws {
    let places = Self.places(in: source)
    for (index, place) in places.enumerated() {
      try copyFile(place)
      progress(index + 1, places.count)
    }
  }

  /// Where the copy of the database is written.
  package var databasePath: String { database }

  package func copyDatabase() throws { try StoreBackup.copyDatabase(from: source, to: database) }

  /// Copies the files that came with the database's last changes, and drops those that it does not know.
  /// - Returns: How many assets there are.
  /// - Throws: `.damaged` if the bytes of an asset are missing that a record uses.
  package func completeFiles() throws -> Int {
    let assets = try StoreBackup.assets(ofDatabase: database)
    var known: Set<String> = []
    for asset in assets {
      guard let place = Self.place(ofChecksum: asset.checksum) else {
        throw StoreError.damaged("\(asset.checksum) is no checksum of an asset")
      }
      known.insert(place)
      if try !copyFile(place) && asset.isClaimed {
        throw StoreError.damaged("the bytes of an asset are missing: \(source)/\(DataFile.assets)/\(place)")
      }
    }
    for place in Self.places(in: target) where !known.contains(place) {
      unlink("\(target)/\(DataFile.assets)/\(place)")
    }
    return assets.count
  }

  /// - Returns: Whether the file is in the copy now.
  @discardableResult
  private func copyFile(_ place: String) throws -> Bool {
    let (from, to) = ("\(source)/\(DataFile.assets)/\(place)", "\(target)/\(DataFile.assets)/\(place)")
    if access(to, F_OK) == 0 { return true }
    mkdir("\(target)/\(DataFile.assets)/\(place.prefix(2))", 0o700)
    if link(from, to) == 0 { return true }
    if errno == ENOENT { return false }
    do { try FileManager.default.copyItem(atPath: from, toPath: to) } catch {
      if access(from, F_OK) != 0 { return false }
      let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
      throw isFull
        ? StoreError.full("no space is left for \(to)") : StoreError.unwritable("\(from) cannot be copied to \(target)")
    }
    return true
  }

  /// Where the files of assets lie in a folder, below `assets`.
  static func places(in folder: String) -> [String] {
    func names(_ path: String) -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
    }
    return names("\(folder)/\(DataFile.assets)").filter { $0.utf8.count == 2 }.flatMap { part in
      names("\(folder)/\(DataFile.assets)/\(part)").map { "\(part)/\($0)" }
    }
  }

  static func place(ofChecksum checksum: String) -> String? {
    guard let digest = Data(base64Encoded: checksum), !digest.isEmpty else { return nil }
    let digits = Array("0123456789abcdef".utf8)
    let name = String(
      decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    return "\(name.prefix(2))/\(name)"
  }

  // MARK: Restoring

  /// Where the database of a restored copy lies until it is a server's: its change tokens are to be renewed there.
  package static func restoringFolder(in folder: String) -> String { "\(folder)/\(DataFile.restoring)" }

  /// Makes a restored copy the folder of a server.
  package static func finishRestoring(_ folder: String) throws {
    let place = restoringFolder(in: folder)
    // All that is in the files is on the disk before they are a server's.
    sync()
    // The lock comes along: it remembers that the folder holds a store.
    guard rename("\(place)/\(DataFile.database)", "\(folder)/\(DataFile.database)") == 0,
      rename("\(place)/\(DataFile.lock)", "\(folder)/\(DataFile.lock)") == 0, rmdir(place) == 0
    else { throw StoreError.unwritable("\(place) cannot be moved into \(folder)") }
    sync()
  }
}
