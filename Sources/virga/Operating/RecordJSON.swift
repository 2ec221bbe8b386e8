import VirgaModel

/// Records as the web service writes them, on their way back to it.
enum RecordJSON {
  /// What a record consists of.
  private static let contents: Set = ["recordName", "recordType", "fields", "parent"]
  /// What the service says of a record by itself.
  private static let ownKeys: Set = [
    "pluginFields", "recordChangeTag", "created", "modified", "deleted", "zoneID", "share", "shortGUID",
  ]

  /// The keys that mean nothing to the service, in order. It carries them for an app that wrote them.
  static func unknownKeys(of record: [String: Any]) -> [String] {
    record.keys.filter { !contents.contains($0) && !ownKeys.contains($0) }.sorted()
  }

  /// The record as a request has it, with what an app added of its own. A share's further keys are the service's.
  static func change(of record: [String: Any]) -> [String: Any] {
    let isShare = record["recordType"] as? String == RecordType.share.rawValue
    return record.filter { contents.contains($0.key) || !isShare && !ownKeys.contains($0.key) }
  }
}
