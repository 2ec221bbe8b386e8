import VirgaSQLite

/// The layout of the diary's database. Steps only go forward; one that was released is never changed.
enum DiarySchema {
  /// "LANT" in ASCII: whose file this is.
  static let applicationID: Int32 = 0x4C41_4E54

  static let migrations = [Migration(1, first), Migration(2, locked), Migration(3, outboxOrder)]

  private static let first = """
    -- `fields` is what this device shows; `ancestor` what the server last acknowledged, with its system fields and the
    -- time of that change; `sent` what was last sent and is not answered; `imported` what an import gave, or a merge that
    -- kept two texts.
    CREATE TABLE entry (
      name TEXT NOT NULL PRIMARY KEY,
      written INTEGER NOT NULL,
      deleted INTEGER NOT NULL,
      copy_of TEXT,
      fields TEXT NOT NULL,
      ancestor TEXT,
      system_fields BLOB,
      changed_at INTEGER,
      sent TEXT,
      imported TEXT
    );
    CREATE INDEX entry_by_time ON entry (deleted, written, name);
    CREATE INDEX entry_by_original ON entry (copy_of) WHERE copy_of IS NOT NULL;

    CREATE TABLE attachment (
      name TEXT NOT NULL PRIMARY KEY,
      entry TEXT NOT NULL,
      position INTEGER NOT NULL,
      kind TEXT NOT NULL,
      file_name TEXT NOT NULL,
      byte_count INTEGER NOT NULL,
      sha256 TEXT NOT NULL,
      has_file INTEGER NOT NULL,
      system_fields BLOB
    );
    CREATE INDEX attachment_by_entry ON attachment (entry, position, name);
    CREATE INDEX attachment_by_file ON attachment (sha256);

    -- What the server must still learn: one row a record. A change of the record takes a new number, so that the
    -- answer to an older change does not remove the row.
    CREATE TABLE outbox (
      generation INTEGER PRIMARY KEY AUTOINCREMENT,
      record TEXT NOT NULL UNIQUE,
      kind TEXT NOT NULL,
      change TEXT NOT NULL,
      since INTEGER NOT NULL,
      error TEXT
    );

    CREATE TABLE version (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      entry TEXT NOT NULL,
      fields TEXT NOT NULL,
      reason TEXT NOT NULL,
      replaced_at INTEGER NOT NULL
    );
    CREATE INDEX version_by_entry ON version (entry, number);

    CREATE TABLE conflict (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      entry TEXT NOT NULL,
      kind TEXT NOT NULL,
      field TEXT,
      version INTEGER,
      noticed_at INTEGER NOT NULL
    );
    CREATE INDEX conflict_by_entry ON conflict (entry);

    CREATE TABLE setting (
      name TEXT NOT NULL PRIMARY KEY,
      value BLOB NOT NULL
    );
    """

  // The outbox in the order in which it is sent, without what was refused.
  private static let outboxOrder = """
    CREATE INDEX outbox_order ON outbox (change = 'delete', kind = 'attachment', generation) WHERE error IS NULL;
    """

  private static let locked = """
    -- Records on the server that cannot be read here: their key is not here, or they were damaged.
    CREATE TABLE locked (
      record TEXT NOT NULL PRIMARY KEY
    );
    """
}
