/// Statements that take a store's file back to what an earlier version wrote, with all that it holds.
public enum OldLayout {
  /// Queues had a number of their own in one table, and versions lay under their names and by their age.
  public static let six = """
    DROP TABLE removed_zone; ALTER TABLE database DROP COLUMN removed_bytes;
    CREATE TABLE old_notification (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      push_token TEXT NOT NULL, coalescing_key TEXT NOT NULL, payload BLOB NOT NULL,
      UNIQUE (push_token, coalescing_key)
    ) STRICT;
    INSERT INTO old_notification SELECT id, push_token, coalescing_key, payload FROM notification;
    DROP TABLE notification; DROP TABLE notification_number;
    ALTER TABLE old_notification RENAME TO notification;
    CREATE INDEX notification_queue ON notification (push_token, id);
    CREATE TABLE old_version (
      id INTEGER PRIMARY KEY,
      zone INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL, type INTEGER NOT NULL,
      created_at INTEGER NOT NULL, created_by INTEGER NOT NULL, created_on INTEGER NOT NULL,
      modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, modified_on INTEGER NOT NULL,
      has_assets INTEGER NOT NULL, has_references INTEGER NOT NULL, replaced_at INTEGER NOT NULL,
      parent TEXT, share TEXT, short_guid TEXT, unknown BLOB, fields BLOB NOT NULL,
      counted_bytes INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO old_version (
        zone, name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        has_assets, has_references, replaced_at, parent, share, short_guid, unknown, fields, counted_bytes)
      SELECT zone, name, sequence, type, created_at, created_by, created_on, modified_at, modified_by, modified_on,
        has_assets, has_references, replaced_at, parent, share, short_guid, unknown, fields, counted_bytes
      FROM version WHERE gap = 0 ORDER BY replaced_at, sequence;
    DROP TABLE version;
    ALTER TABLE old_version RENAME TO version;
    CREATE UNIQUE INDEX version_of ON version (zone, name, sequence DESC);
    CREATE INDEX version_age ON version (replaced_at);
    PRAGMA user_version = 6;
    """
}
