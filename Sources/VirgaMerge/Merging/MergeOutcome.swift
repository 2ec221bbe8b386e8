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
  public enum Taken: String, Hashable, Sendable, Codable {
    case server, mine
    /// Made of both.
    case merged
  }

  /// A value that is in the merged record no more.
  public struct Discarded: Hashable, Sendable, Codable {
    public var field: FieldName
    /// Whose value it was.
    public var side: Taken
    /// `nil` if that side had removed the field.
    public var value: StoredValue?
    /// What the merged record has instead.
    public var kept: StoredValue?
  }

  public var fields: [FieldName]
  /// The rule, or the invariant that was broken.
  public var rule: String
  public var taken: Taken
  public var discarded: [Discarded]
}

/// Something that a person has to decide. It can be stored; answering it is an ordinary save.
public struct MergeQuestion: Hashable, Sendable, Codable {
  public struct Choice: Hashable, Sendable, Codable {
    public var field: FieldName
    public var ancestor: StoredValue?
    /// What the record shows until somebody answers.
    public var server: StoredValue?
    public var mine: StoredValue?
  }

  public var record: RecordName
  public var zone: ZoneID
  /// The server's version that my change met.
  public var serverTag: ChangeTag?
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
