public import VirgaModel

/// The versions of a record that meet in a conflict.
public struct RecordVersions: Sendable {
  /// What my version was made from: the server's where it sent one, else the last version that it acknowledged here. Without one, a
  /// field that only one version has counts as added there.
  public var ancestor: Record?
  /// What the server has now.
  public var server: Record
  /// What was to be saved.
  public var mine: Record
  /// Earlier versions that this device sent from the same ancestor and got no answer for, if `mine` was edited since. The server may
  /// have taken one of them.
  public var sent: [Record]

  /// - Precondition: All versions are of one record.
  public init(ancestor: Record?, server: Record, mine: Record, sent: [Record] = []) {
    precondition(server.id.name == mine.id.name, "two versions of one record have one name")
    self.ancestor = ancestor
    self.server = server
    self.mine = mine
    self.sent = sent
  }
}
