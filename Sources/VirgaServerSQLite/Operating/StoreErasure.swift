import Glibc
import VirgaSQLite
import VirgaServer

/// Erases people from a store that no server uses: their rows, and the bytes that those leave in the file.
package enum StoreErasure {
  /// What is erased: all that belongs to these names.
  package struct Person: Hashable, Sendable {
    /// The person's users, one for each container.
    package var users: Set<String>
    package var account: String?
    package var devices: Set<String>

    package init(users: Set<String>, account: String?, devices: Set<String>) {
      self.users = users
      self.account = account
      self.devices = devices
    }

    package var names: [String] { (users.union(devices).union(account.map { [$0] } ?? [])).sorted() }
  }

  /// Who is in a store: what a person's names are made from.
  package struct Census: Hashable, Sendable {
    package var containers: [String]
    /// The devices of each account.
    package var accounts: [String: Set<String>]
  }

  package static func census(folder: String) throws -> Census {
    try reading(folder) { connection in
      let containers = try connection.query(
        """
        SELECT container FROM database
        UNION SELECT substr(owner, 1, instr(owner, '/') - 1) FROM entity
          WHERE kind IN ('subscription', 'pushToken') AND instr(owner, '/') > 1
        ORDER BY 1
        """
      ) { $0.text(0) }
      var accounts: [String: Set<String>] = [:]
      _ = try connection.query("SELECT key FROM entity WHERE kind = 'account'") { accounts[$0.text(0)] = [] }
      _ = try connection.query("SELECT owner, key FROM entity WHERE kind = 'device'") {
        accounts[$0.text(0), default: []].insert($0.text(1))
      }
      return Census(containers: containers, accounts: accounts)
    }
  }

  private static let unfinished = "erasure.unfinished"

  /// Erases a person's rows. The files of their assets, and the bytes that they leave in the database's file, go with
  /// `finish`; until then the store remembers that it is to be done.
  /// - Returns: How many assets nobody uses any more.
  package static func erase(_ person: Person, folder: String) throws -> Int {
    try writing(folder) { connection in
      try connection.transaction(.immediate) {
        try connection.run(
          "INSERT OR REPLACE INTO entity (kind, key, owner, value) VALUES ('setting', ?, '', x'')", unfinished)
        try eraseRows(person, connection)
        return try dropAssets(connection)
      }
    }
  }

  /// Whether an erasure was cut off before its end.
  package static func isUnfinished(folder: String) throws -> Bool {
    try reading(folder) { connection in
      try connection.first("SELECT EXISTS (SELECT 1 FROM entity WHERE kind = 'setting' AND key = ?)", unfinished) {
        $0.bool(0)
      } ?? false
    }
  }

  /// Removes the files of assets that no row knows, and rewrites the database's file so that nothing deleted is left in it.
  package static func finish(folder: String) throws {
    try writing(folder) { connection in
      let known = try connection.query("SELECT checksum FROM asset ORDER BY checksum") { $0.text(0) }
      let places = Set(known.compactMap(StoreCopy.place(ofChecksum:)))
      for place in StoreCopy.places(in: folder) where !places.contains(place) {
        let path = "\(folder)/assets/\(place)"
        guard unlink(path) == 0 || errno == ENOENT else { throw StoreError.unwritable("\(path) cannot be removed") }
      }
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; VACUUM")
      try connection.run("DELETE FROM entity WHERE kind = 'setting' AND key = ?", unfinished)
      _ = try connection.query("PRAGMA wal_checkpoint(TRUNCATE)") { $0.int(0) }
    }
  }

  /// Runs a body on the database of a folder that nobody else uses.
  /// - Throws: `StoreError` for what SQLite says.
  private static func writing<Value>(_ folder: String, _ body: (Connection) throws -> Value) throws -> Value {
    let lock = try DataFolder(folder)
    defer { lock.unlock() }
    try lock.checkFile()
    do {
      let connection = try Connection(path: lock.databasePath, access: .readWrite)
      try connection.execute("PRAGMA secure_delete = ON; PRAGMA synchronous = FULL")
      return try body(connection)
    } catch {
      throw StoreError.translating(error)
    }
  }

  private static func eraseRows(_ person: Person, _ connection: Connection) throws {
    try connection.execute("CREATE TEMP TABLE gone (name TEXT PRIMARY KEY)")
    for name in person.names { try connection.run("INSERT INTO gone VALUES (?)", name) }
    try connection.execute(
      """
      -- Keys of indexes hold values, and names of who made a record. An index is made again when a query asks for it.
      DELETE FROM index_entry;
      DELETE FROM record_index;

      -- What they own.
      CREATE TEMP TABLE gone_zone AS
        SELECT z.id FROM zone z JOIN database d ON d.id = z.database JOIN gone ON gone.name = d.owner
        -- What anybody's deleted zones left is due to go, and may name the person.
        UNION SELECT id FROM removed_zone;
      DELETE FROM removed_zone;
      UPDATE database SET removed_bytes = 0;
      DELETE FROM record WHERE zone IN (SELECT id FROM gone_zone);
      DELETE FROM version WHERE zone IN (SELECT id FROM gone_zone);
      DELETE FROM reference WHERE zone IN (SELECT id FROM gone_zone);
      DELETE FROM claim WHERE zone IN (SELECT id FROM gone_zone);
      DELETE FROM zone WHERE id IN (SELECT id FROM gone_zone);
      DELETE FROM database WHERE owner IN (SELECT name FROM gone);

      -- What they made elsewhere. A record that somebody else goes on with stays, as nobody's.
      CREATE TEMP TABLE gone_word AS SELECT id FROM word WHERE text IN (SELECT name FROM gone);
      CREATE TEMP TABLE gone_record AS
        SELECT zone, name, sequence FROM record
        WHERE created_by IN (SELECT id FROM gone_word) AND modified_by IN (SELECT id FROM gone_word);
      DELETE FROM reference WHERE (zone, source) IN (SELECT zone, name FROM gone_record);
      DELETE FROM claim WHERE (zone, sequence) IN (
        SELECT zone, sequence FROM gone_record
        UNION SELECT v.zone, v.sequence FROM version v JOIN gone_record g ON g.zone = v.zone AND g.name = v.name);
      DELETE FROM version WHERE (zone, name) IN (SELECT zone, name FROM gone_record);
      DELETE FROM record WHERE (zone, name) IN (SELECT zone, name FROM gone_record);
      CREATE TEMP TABLE gone_version AS
        SELECT zone, sequence FROM version WHERE gap = 0 AND modified_by IN (SELECT id FROM gone_word);
      DELETE FROM claim WHERE (zone, sequence) IN (SELECT zone, sequence FROM gone_version)
        AND (zone, sequence) NOT IN (SELECT zone, sequence FROM record);
      -- The versions before and after hold together over it.
      UPDATE version SET gap = 1, counted_bytes = 0, type = 0, created_at = 0, created_by = 0, created_on = 0,
          modified_at = 0, modified_by = 0, modified_on = 0, has_assets = 0, has_references = 0, parent = NULL,
          share = NULL, short_guid = NULL, unknown = NULL, fields = x''
        WHERE (zone, sequence) IN (SELECT zone, sequence FROM gone_version) AND gap = 0;
      -- Tokens that were given before would not tell of the records that went; that the zone changed is to be told.
      CREATE TEMP TABLE gone_feed AS
        SELECT id, database, row_number() OVER (PARTITION BY database ORDER BY id) AS step
        FROM zone WHERE id IN (SELECT zone FROM gone_record);
      UPDATE zone SET incarnation = random() | 1, sequence = sequence + 1, database_sequence = (
          SELECT d.sequence + f.step FROM gone_feed f JOIN database d ON d.id = f.database WHERE f.id = zone.id)
        WHERE id IN (SELECT id FROM gone_feed);
      UPDATE database SET sequence = sequence + (SELECT count(*) FROM gone_feed f WHERE f.database = database.id)
        WHERE id IN (SELECT database FROM gone_feed);
      INSERT OR IGNORE INTO word (text) VALUES ('_erased');
      """)
    for table in ["record", "version"] {
      for column in ["created_by", "modified_by", "created_on", "modified_on"] {
        // Both names are constants of this function.
        try connection.execute(
          """
          UPDATE \(table) SET \(column) = (SELECT id FROM word WHERE text = '_erased')
          WHERE \(column) IN (SELECT id FROM gone_word)
          """)
      }
    }
    try eraseMentions(connection)
    try renewSharedFeeds(connection)
    try eraseEntities(connection)
    try connection.execute(
      """
      DELETE FROM word WHERE id NOT IN (
        SELECT type FROM record UNION SELECT created_by FROM record UNION SELECT created_on FROM record
        UNION SELECT modified_by FROM record UNION SELECT modified_on FROM record
        UNION SELECT type FROM version UNION SELECT created_by FROM version UNION SELECT created_on FROM version
        UNION SELECT modified_by FROM version UNION SELECT modified_on FROM version);
      """)
  }

  /// What records of others say of the person, such as a share that lists them, and what the zones take now.
  private static func eraseMentions(_ connection: Connection) throws {
    try connection.execute(
      """
      CREATE TEMP TABLE zone_bytes AS
        SELECT zone, sum(length(fields) + coalesce(length(unknown), 0)) AS bytes FROM record
        WHERE deleted = 0 GROUP BY zone;
      """)
    for table in ["record", "version"] {
      for column in ["fields", "unknown"] {
        // Both names are constants of this function. A name is ASCII, so text and bytes are one.
        try connection.execute(
          """
          UPDATE \(table) SET \(column) = (
            WITH RECURSIVE names AS (SELECT row_number() OVER (ORDER BY name) AS number, name FROM gone),
              step (number, text) AS (
                SELECT 0, CAST(\(column) AS TEXT)
                UNION ALL
                SELECT names.number, replace(step.text, names.name, '_erased')
                FROM step JOIN names ON names.number = step.number + 1)
            SELECT CAST(text AS BLOB) FROM step ORDER BY number DESC LIMIT 1)
          WHERE EXISTS (SELECT 1 FROM gone WHERE instr(\(column), CAST(gone.name AS BLOB)))
          """)
      }
    }
    try connection.execute(
      """
      UPDATE zone SET used_bytes =
        coalesce((
          SELECT sum(length(fields) + coalesce(length(unknown), 0)) FROM record
          WHERE record.zone = zone.id AND deleted = 0), 0)
        + coalesce((
          SELECT sum(asset.size) FROM record JOIN claim USING (zone, sequence) JOIN asset USING (checksum)
          WHERE record.zone = zone.id AND record.deleted = 0), 0)
      WHERE id IN (SELECT zone FROM gone_record);
      -- Elsewhere a name has become another.
      UPDATE zone SET used_bytes = used_bytes
        + (SELECT sum(length(fields) + coalesce(length(unknown), 0)) FROM record
          WHERE record.zone = zone.id AND deleted = 0)
        - (SELECT bytes FROM zone_bytes WHERE zone_bytes.zone = zone.id)
      WHERE id IN (SELECT zone FROM zone_bytes) AND id NOT IN (SELECT zone FROM gone_record);
      UPDATE database SET used_bytes =
        coalesce((SELECT sum(used_bytes) FROM zone WHERE zone.database = database.id AND zone.deleted = 0), 0);
      \(Layout.countHistory)
      """)
  }

  /// Others who see a zone that changed or is gone begin their feed of shared zones anew. Such a feed is two lines, of
  /// which the first is its incarnation, and is kept under what its shared zones are listed under.
  private static func renewSharedFeeds(_ connection: Connection) throws {
    try connection.execute(
      """
      CREATE TEMP TABLE gone_view AS SELECT e.owner FROM entity e
        WHERE e.kind = 'sharedZone' AND (
          EXISTS (SELECT 1 FROM gone g WHERE instr(substr(e.key, length(e.owner) + 1), '/' || g.name || '/') = 1)
          OR e.key IN (
            SELECT e.owner || '/' || d.owner || '/' || z.name
            FROM gone_feed f JOIN zone z ON z.id = f.id JOIN database d ON d.id = z.database
            WHERE instr(e.owner, d.container || '/' || d.environment || '/') = 1));
      UPDATE entity SET value = CAST(
          ((random() & 9223372036854775807) | 1) || substr(CAST(value AS TEXT), instr(CAST(value AS TEXT), char(10)))
          AS BLOB)
        WHERE kind = 'sharedFeed' AND key IN (SELECT owner FROM gone_view);
      """)
  }

  /// Accounts, devices, tokens, subscriptions, receipts, and what waits to be delivered: all that names the person.
  private static func eraseEntities(_ connection: Connection) throws {
    try connection.execute(
      """
      CREATE TEMP TABLE gone_entity AS SELECT e.kind, e.key FROM entity e
        WHERE EXISTS (
          SELECT 1 FROM gone g
          WHERE instr(e.key, g.name) OR instr(e.owner, g.name) OR instr(e.value, CAST(g.name AS BLOB)));
      DELETE FROM notification WHERE push_token IN (SELECT key FROM gone_entity WHERE kind = 'pushToken')
        OR EXISTS (SELECT 1 FROM gone g WHERE instr(payload, CAST(g.name AS BLOB)));
      DELETE FROM entity WHERE (kind, key) IN (SELECT kind, key FROM gone_entity);
      """)
  }

  private static func dropAssets(_ connection: Connection) throws -> Int {
    try connection.execute("DELETE FROM asset WHERE checksum NOT IN (SELECT checksum FROM claim)")
    return connection.changedRowCount
  }
}
