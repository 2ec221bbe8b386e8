import VirgaSQLite

/// The tables. Steps are never changed once released; a new layout is a new step.
enum Layout {
  /// "VIRG", in the file's header.
  static let applicationID: Int32 = 0x5649_5247

  /// Counts what the live records of zones and databases and their assets take. Steps run it, so it never changes either.
  private static let countUsedBytes = """
    UPDATE zone SET used_bytes =
      coalesce((
        SELECT sum(length(fields) + coalesce(length(unknown), 0)) FROM record WHERE record.zone = zone.id AND deleted = 0), 0)
      + coalesce((
        SELECT sum(asset.size) FROM record JOIN claim USING (zone, sequence) JOIN asset USING (checksum)
        WHERE record.zone = zone.id AND record.deleted = 0), 0);
    UPDATE database SET used_bytes =
      coalesce((SELECT sum(used_bytes) FROM zone WHERE zone.database = database.id AND zone.deleted = 0), 0);
    """

  /// Counts what replaced versions take and tombstones. A step runs it, so it never changes either.
  static let countHistory = """
    UPDATE database SET
      history_bytes = coalesce((
        SELECT sum(v.counted_bytes) FROM zone z JOIN version v ON v.zone = z.id WHERE z.database = database.id), 0),
      tombstone_count = (
        SELECT count(*) FROM zone z JOIN record r ON r.zone = z.id WHERE z.database = database.id AND r.deleted = 1);
    """

  static let migrations = [
    Migration(
      1,
      """
      -- Texts that many records share: types, users, devices. A record then holds small numbers instead.
      CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;

      -- The public database has the empty owner.
      CREATE TABLE database (
        id INTEGER PRIMARY KEY,
        container TEXT NOT NULL, environment TEXT NOT NULL, owner TEXT NOT NULL,
        incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL,
        UNIQUE (container, environment, owner)
      ) STRICT;

      CREATE TABLE zone (
        id INTEGER PRIMARY KEY,
        database INTEGER NOT NULL, name TEXT NOT NULL,
        incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL, floor INTEGER NOT NULL,
        database_sequence INTEGER NOT NULL, deleted INTEGER NOT NULL, deletion_reason TEXT,
        UNIQUE (database, name)
      ) STRICT;
      CREATE INDEX zone_feed ON zone (database, database_sequence);

      -- The newest version of each record. The index on the sequence is the change feed.
      CREATE TABLE record (
        id INTEGER PRIMARY KEY,
        zone INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL, type INTEGER NOT NULL,
        created_at INTEGER NOT NULL, created_by INTEGER NOT NULL, created_on INTEGER NOT NULL,
        modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, modified_on INTEGER NOT NULL,
        deleted INTEGER NOT NULL, has_assets INTEGER NOT NULL, has_references INTEGER NOT NULL,
        parent TEXT, share TEXT, short_guid TEXT, unknown BLOB, fields BLOB NOT NULL,
        UNIQUE (zone, name), UNIQUE (zone, sequence)
      ) STRICT;
      CREATE INDEX record_tombstone ON record (zone, modified_at) WHERE deleted = 1;

      -- Replaced versions, for a while.
      CREATE TABLE version (
        id INTEGER PRIMARY KEY,
        zone INTEGER NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL, type INTEGER NOT NULL,
        created_at INTEGER NOT NULL, created_by INTEGER NOT NULL, created_on INTEGER NOT NULL,
        modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, modified_on INTEGER NOT NULL,
        has_assets INTEGER NOT NULL, has_references INTEGER NOT NULL, replaced_at INTEGER NOT NULL,
        parent TEXT, share TEXT, short_guid TEXT, unknown BLOB, fields BLOB NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX version_of ON version (zone, name, sequence DESC);
      CREATE INDEX version_age ON version (replaced_at);

      CREATE TABLE reference (
        zone INTEGER NOT NULL, target TEXT NOT NULL, kind INTEGER NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (zone, target, kind, source)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX reference_source ON reference (zone, source);

      CREATE TABLE asset (
        checksum TEXT NOT NULL PRIMARY KEY, size INTEGER NOT NULL, uploaded_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      -- Which versions use which bytes; a version is known by its sequence.
      CREATE TABLE claim (
        checksum TEXT NOT NULL, zone INTEGER NOT NULL, sequence INTEGER NOT NULL,
        PRIMARY KEY (checksum, zone, sequence)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX claim_version ON claim (zone, sequence);

      CREATE TABLE entity (
        kind TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, value BLOB NOT NULL,
        PRIMARY KEY (kind, key)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX entity_owner ON entity (kind, owner, key) WHERE owner <> '';

      -- AUTOINCREMENT: a number is never given twice, so that removing what was delivered removes nothing newer.
      CREATE TABLE notification (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        push_token TEXT NOT NULL, coalescing_key TEXT NOT NULL, payload BLOB NOT NULL,
        UNIQUE (push_token, coalescing_key)
      ) STRICT;
      CREATE INDEX notification_queue ON notification (push_token, id);
      """),
    Migration(
      2,
      """
      -- What of a zone is shared (0 nothing, 1 hierarchies, 2 all), and what its live records and their assets take.
      ALTER TABLE zone ADD COLUMN sharing INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE zone ADD COLUMN used_bytes INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE database ADD COLUMN used_bytes INTEGER NOT NULL DEFAULT 0;
      \(countUsedBytes)
      """),
    Migration(
      3,
      """
      -- Indexes of records are made when a query first asks for them, and are kept up by every write from then on. So
      -- there is nothing to fill here.
      CREATE TABLE record_index (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        zone INTEGER NOT NULL, type TEXT NOT NULL, definition TEXT NOT NULL,
        UNIQUE (zone, type, definition)
      ) STRICT;
      CREATE TABLE index_entry (
        record_index INTEGER NOT NULL, key BLOB NOT NULL, name TEXT NOT NULL,
        PRIMARY KEY (record_index, key, name)
      ) STRICT, WITHOUT ROWID;
      """),
    Migration(
      4,
      """
      -- Counted again: a file that a record held several times counted as often, and users' records did not count.
      \(countUsedBytes)
      """),
    Migration(
      5,
      """
      -- When a zone was last deleted, in the numbers of its database's feed. The reason stays with it.
      ALTER TABLE zone ADD COLUMN deletion_sequence INTEGER NOT NULL DEFAULT 0;
      UPDATE zone SET deletion_sequence = database_sequence WHERE deleted = 1;
      """),
    Migration(
      6,
      """
      -- An index is filled in steps, in the order of the records' names. NULL: it is ready.
      ALTER TABLE record_index ADD COLUMN maker TEXT NOT NULL DEFAULT '';
      ALTER TABLE record_index ADD COLUMN filled_to TEXT;
      -- What else a database holds; `DatabaseTally` says what counts. A version remembers what was counted for it.
      ALTER TABLE database ADD COLUMN key_bytes INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE database ADD COLUMN zone_count INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE database ADD COLUMN past_zone_count INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE database ADD COLUMN history_bytes INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE database ADD COLUMN tombstone_count INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE version ADD COLUMN counted_bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE version SET counted_bytes = length(fields) + coalesce(length(unknown), 0);
      UPDATE database SET
        zone_count = (SELECT count(*) FROM zone z WHERE z.database = database.id AND z.deleted = 0
          AND z.name <> '_defaultZone'),
        past_zone_count = (SELECT count(*) FROM zone z WHERE z.database = database.id AND z.deleted = 1
          AND z.name <> '_defaultZone');
      \(countHistory)
      """),
    Migration(
      7,
      """
      -- One row of one tree for each queue and coalescing key, so that a save that is told writes one page more. Numbers
      -- are reserved many at once, and no number is given twice.
      CREATE TABLE notification_number (reserved INTEGER NOT NULL) STRICT;
      INSERT INTO notification_number VALUES (
        coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = 'notification'), 0));
      CREATE TABLE notification_queued (
        push_token TEXT NOT NULL, coalescing_key TEXT NOT NULL, id INTEGER NOT NULL, payload BLOB NOT NULL,
        PRIMARY KEY (push_token, coalescing_key)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO notification_queued SELECT push_token, coalescing_key, id, payload FROM notification;
      DROP TABLE notification;
      ALTER TABLE notification_queued RENAME TO notification;
      """),
    Migration(
      8,
      """
      -- The numbers that zones had whose records were taken away, until those are gone, and what the live ones took.
      CREATE TABLE removed_zone (id INTEGER PRIMARY KEY, database INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
      ALTER TABLE database ADD COLUMN removed_bytes INTEGER NOT NULL DEFAULT 0;
      """),
    Migration(
      9,
      """
      -- The history is keyed by the change that replaced a version, so a save only appends to it. A record's versions are
      -- a chain: each names the sequence under which the one before is found. A gap holds the chain together where a
      -- version was not kept.
      CREATE TABLE history (
        zone INTEGER NOT NULL, replaced_by INTEGER NOT NULL, sequence INTEGER NOT NULL, gap INTEGER NOT NULL,
        replaced_at INTEGER NOT NULL, counted_bytes INTEGER NOT NULL, name TEXT NOT NULL, type INTEGER NOT NULL,
        created_at INTEGER NOT NULL, created_by INTEGER NOT NULL, created_on INTEGER NOT NULL,
        modified_at INTEGER NOT NULL, modified_by INTEGER NOT NULL, modified_on INTEGER NOT NULL,
        has_assets INTEGER NOT NULL, has_references INTEGER NOT NULL,
        parent TEXT, share TEXT, short_guid TEXT, unknown BLOB, fields BLOB NOT NULL,
        PRIMARY KEY (zone, replaced_by)
      ) STRICT, WITHOUT ROWID;
      CREATE TEMP TABLE moved (number INTEGER PRIMARY KEY, id INTEGER NOT NULL, replaced_by INTEGER NOT NULL);
      INSERT INTO moved (id, replaced_by)
        SELECT id, replaced_by FROM (
          SELECT v.id, v.zone, coalesce(
            lead(v.sequence) OVER (PARTITION BY v.zone, v.name ORDER BY v.sequence), r.sequence) AS replaced_by
          FROM version v JOIN record r ON r.zone = v.zone AND r.name = v.name)
        ORDER BY zone, replaced_by;
      """,
      rows: Migration.Rows(
        count: "SELECT count(*) FROM moved",
        move: """
          INSERT INTO history
            SELECT v.zone, m.replaced_by, v.sequence, 0, v.replaced_at, v.counted_bytes, v.name, v.type, v.created_at,
              v.created_by, v.created_on, v.modified_at, v.modified_by, v.modified_on, v.has_assets, v.has_references,
              v.parent, v.share, v.short_guid, v.unknown, v.fields
            FROM moved m JOIN version v ON v.id = m.id WHERE m.number > ?1 AND m.number <= ?2 ORDER BY m.number
          """,
        end: """
          -- Of records that are forgotten no version can be found any more.
          CREATE TEMP TABLE lost AS
            SELECT v.zone, v.sequence, v.counted_bytes FROM version v
            WHERE NOT EXISTS (SELECT 1 FROM record r WHERE r.zone = v.zone AND r.name = v.name);
          DELETE FROM claim WHERE (zone, sequence) IN (SELECT zone, sequence FROM lost);
          UPDATE database SET history_bytes = history_bytes - coalesce((
            SELECT sum(l.counted_bytes) FROM lost l
            JOIN (SELECT id, database FROM zone UNION ALL SELECT id, database FROM removed_zone) z ON z.id = l.zone
            WHERE z.database = database.id), 0);
          DROP TABLE lost;
          DROP TABLE moved;
          DROP TABLE version;
          ALTER TABLE history RENAME TO version;
          """)),
  ]
}
