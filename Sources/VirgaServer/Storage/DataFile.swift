/// What lies in a server's data folder, by name.
package enum DataFile {
  package static let database = "virga.sqlite"
  /// What SQLite has not moved into the database's file yet.
  package static let log = "virga.sqlite-wal"
  /// Keeps two servers apart, and remembers that the folder holds a store.
  package static let lock = "lock"
  package static let secrets = "secret.key"
  package static let assets = "assets"
  package static let uploads = "uploads"
  /// The folder that a restore works in until all is there.
  package static let restoring = "restoring"
}
