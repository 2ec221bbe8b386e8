public import VirgaModel

/// What a merge made of three versions.
public struct MergeOutcome: Sendable {
  /// The merged record, with the server's tag: what the next save sends.
  public internal(set) var record: Record
  /// Whether the merged record says anything that the server does not have yet.
  public internal(set) var isSaveNeeded = true
  /// What was decided where both sides differed, in the order of the policy.
  public internal(set) var decisions: [MergeDecision] = []
  /// New records that keep my side of what could not be merged: at most one for each merge.
  public internal(set) var forks: [Record] = []
  /// What somebody has to answer.
  public internal(set) var question: MergeQuestion?
  /// The record that was to be saved had arrived already; only the answer had been lost.
  public internal(set) var wasSavedAlready = false
}

/// What met what, which rule decided, and what was discarded.
public struct MergeDecision: Hashable, Sendable, Codable {
  /// Whose value a merged record has.
  public enum Taken: String, Hashable, Sendable, Codable {
    /// The server's, or this device's.
    case server, mine
    /// Made of both.
    case merged
  }

  /// A value that is in the merged record no more.
  public struct Discarded: Hashable, Sendable, Codable {
    /// The field that had the value.
    public var field: FieldName
    /// Whose value it was.
    public var side: Taken
    /// `nil` if that side had removed the field.
    public var value: StoredValue?
    /// What the merged record has instead.
    public var kept: StoredValue?
    /// Whether the value belongs to the encrypted ones; `nil` where an older version noted it.
    public var isEncrypted: Bool?
  }

  /// What stands for the record's parent among the names of fields.
  static let parent: FieldName = "___parent"

  /// The fields that were decided together.
  public var fields: [FieldName]
  /// The rule, or the invariant that was broken.
  public var rule: String
  /// Whose values the merged record has.
  public var taken: Taken
  /// The values that are in the merged record no more.
  public var discarded: [Discarded]
}

/// Something that a person has to decide. It can be stored; answering it is an ordinary save.
public struct MergeQuestion: Hashable, Sendable, Codable {
  /// One field, with the values to choose from.
  public struct Choice: Hashable, Sendable, Codable {
    /// The field to decide.
    public var field: FieldName
    /// What it was before both changes; `nil` if it was not there, or is not known.
    public var ancestor: StoredValue?
    /// What the record shows until somebody answers.
    public var server: StoredValue?
    /// What this device had set.
    public var mine: StoredValue?
  }

  /// The name of the record to decide.
  public var record: RecordName
  /// The zone of that record.
  public var zone: ZoneID
  /// The server's version that my change met.
  public var serverTag: ChangeTag?
  /// The fields to decide.
  public var choices: [Choice]

  /// The same on every device that meets the same two versions.
  public var id: String {
    var bytes = CanonicalBytes()
    bytes.append(record.rawValue)
    bytes.append(serverTag?.rawValue ?? "")
    for choice in choices {
      bytes.append(choice.field.rawValue)
      bytes.append(choice.server?.fieldValue)
      bytes.append(choice.mine?.fieldValue)
    }
    return bytes.digest
  }
}
