import Foundation
import Glibc
import VirgaAuth
import VirgaModel
import VirgaServerSQLite

/// `virga erase`: a person goes, with every byte.
enum EraseCommand {
  private static let spec = CommandSpec(
    name: "virga erase",
    summary:
      "Erases everything of one person: records, versions, assets, account, devices, tokens. The server must be stopped.",
    operands: ["USER"],
    options: [
      .init(name: "--data", value: "DIR", help: "The server's data folder. Default: ./virga-data."),
      .init(name: "--yes", value: nil, help: "Do it without asking."),
    ],
    notes: """
      USER is an account or one of its users' record names (_…). What the person made in databases of others stays where
      somebody else went on with it, under the name _erased. The database is rewritten and then scanned for the person's names.
      Backups are not touched.

      Exit codes: 0 erased · 1 no such person, or refused · 64 wrong arguments · 65 damaged data · 73 folder cannot be used ·
      75 a server uses the folder
      """)

  static func run(_ words: [String]) async throws {
    let arguments = try Arguments(words, for: spec)
    if arguments.wantsHelp { return Terminal.print(spec.help) }
    let folder = arguments.value("--data") ?? "./virga-data"
    let name = arguments.operands[0]
    let person = try Person(name, in: folder)
    guard arguments.has("--yes") || Terminal.confirm("Erase everything of \(name) for good?") else {
      throw Failure(.failed, "nothing was erased")
    }
    try await leaveShares(person, in: folder)
    let erased = StoreErasure.Person(
      users: Set(person.users.map(\.user)), account: person.account, devices: person.devices)
    let checksums = try BackupCommand.translating { try StoreErasure.erase(erased, folder: folder) }
    for checksum in checksums {
      guard let digest = Data(base64Encoded: checksum) else { continue }
      let name = Hex.encode(Array(digest))
      unlink("\(folder)/assets/\(name.prefix(2))/\(name)")
    }
    for file in ["virga.sqlite", "virga.sqlite-wal"] {
      guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"), options: .alwaysMapped) else {
        continue
      }
      for name in erased.names where bytes.range(of: Data(name.utf8)) != nil {
        throw Failure(.damaged, "\(file) still holds the name \(name)")
      }
    }
    Terminal.print("Erased \(name) and \(checksums.count) assets. A scan of the store finds none of their names.")
  }

  /// Nobody stays in the shares of others as a participant who is no more.
  private static func leaveShares(_ person: Person, in folder: String) async throws {
    let access = try OperatorAccess(folder: folder)
    defer { access.close() }
    for (container, user) in person.users {
      for environment in VirgaModel.Environment.allCases {
        let query = [
          (name: "container", value: container), (name: "environment", value: environment.rawValue),
          (name: "user", value: user),
        ]
        _ = try await access.send("POST", "leave-shares", query: query)
      }
    }
  }
}
