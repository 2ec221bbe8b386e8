import VirgaSQLite
import VirgaServer

extension StoreError {
  /// What an error inside a transaction is for the caller: SQLite's become ours, all others stay.
  package static func translating(_ error: any Error) -> any Error {
    switch error {
    case let error as SQLiteError: StoreError(error)
    case MigrationError.newerVersion(let found, let known): StoreError.newerVersion(found: found, known: known)
    case MigrationError.foreign: StoreError.damaged("the database belongs to another program")
    default: error
    }
  }

  init(_ error: SQLiteError) {
    self =
      switch error.condition {
      case .busy: .busy("another program has locked the database")
      case .full: .full("no space is left for the database")
      case .corrupt, .notADatabase: .damaged("the database is damaged: \(error.message)")
      case .syncFailed: .diskFailed("the disk did not keep what was written; check the disk, then restart the server")
      case .ioFailed: .diskFailed("the disk failed: \(error.message)")
      case .readOnly, .cannotOpen: .unwritable("the database cannot be written: \(error.message)")
      case .constraint, .other: .other("the database refused a request: \(error.message) (code \(error.code))")
      }
  }
}
