import Foundation
import VirgaCommandLine
import VirgaModel
import VirgaServer
import VirgaServerSQLite

/// `virga erase`: a person goes, with every byte.
enum EraseCommand {
  private static let spec = CommandSpec(
    name: "virga erase",
    summary:
      "Erases all data of one person: records, versions, assets, account, devices, tokens. Stop the server first.",
    operands: ["USER"],
    options: [
      OperatorAccess.folderOption,
      .yes,
    ],
    notes: """
      USER is an account or one of its users' record names (_…). If somebody else has changed a record of the person since, the
      record stays, with the name _erased. The database is rewritten and then searched for the person's names. Backups are not
      changed. If an erasure was cut off, run the same command again to finish it.

      Exit codes: 0 erased · 1 no such person, or refused · 64 wrong arguments · 65 damaged data · 73 folder cannot be used ·
      75 a server uses the folder
      """)

  static let commands = [Command(spec, run)]

  private static func run(_ arguments: Arguments) async throws {
    let folder = arguments.value("--data") ?? "./virga-data"
    let name = arguments.operands[0]
    let person: Person
    do { person = try Person(name, in: folder) } catch let failure as Failure where failure.code == .failed {
      // An erasure that was cut off has left nobody of that name.
      guard try BackupCommand.translating(in: [folder], { try StoppedStore.read(folder, Erasure.isUnfinished) }) else {
        throw failure
      }
      try await finish([name], in: folder)
      return Terminal.print("Finished an erasure that was cut off. A search of all files does not find \(name).")
    }
    try arguments.confirm("Erase all data of \(name) for good?", "nothing was erased")
    try await leaveShares(person, in: folder)
    let erased = Erasure.Person(
      users: Set(person.users.map { UserName($0.user) }), account: person.account.map { AccountID($0) },
      devices: Set(person.devices.map { DeviceID($0) }))
    let count = try await Terminal.following("Erasing", .things("records")) { meter in
      let watch = ProgressWatch.time(meter)
      defer { watch.stop() }
      return try BackupCommand.translating(in: [folder]) {
        try StoppedStore.write(folder) { transaction in
          var random = SystemRandomNumberGenerator()
          return try Erasure.erase(erased, in: transaction, random: &random)
        }
      }
    }
    try await finish(erased.names, in: folder)
    Terminal.print("Erased \(name) and \(count) assets. A search of all files finds none of their names.")
  }

  /// Gives back what was erased, and looks whether a name is left.
  private static func finish(_ names: [String], in folder: String) async throws {
    do {
      try await Terminal.following("Rewriting the database", .bytes) { meter in
        let watch = ProgressWatch.time(meter)
        defer { watch.stop() }
        try StoppedStore.giveBackBytes(folder, finally: Erasure.noteFinished)
      }
    } catch let error as StoreError {
      let failure = Storage.failure(error, in: [folder])
      throw Failure(
        failure.code,
        "the data are erased, but traces may be left in the files: \(failure.message). "
          + "To finish, run the same command again")
    }
    for file in [DataFile.database, DataFile.log] {
      guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(file)"), options: .alwaysMapped) else {
        continue
      }
      for name in names where bytes.range(of: Data(name.utf8)) != nil {
        throw Failure(.damaged, "\(file) still holds the name \(name)")
      }
    }
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
