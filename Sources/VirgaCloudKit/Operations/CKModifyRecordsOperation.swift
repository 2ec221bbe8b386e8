public import Foundation

/// Saves and deletes records.
public final class CKModifyRecordsOperation: NSObject, Sendable {
  /// What a save does when the service has another version of the record.
  public enum RecordSavePolicy: Int, Sendable {
    /// Fails with `serverRecordChanged`. Only changed fields are sent.
    case ifServerRecordUnchanged = 0
    /// Overwrites the changed fields; the others stay as the service has them.
    case changedKeys = 1
    /// Overwrites all fields that the object holds; fields that only the service has stay.
    case allKeys = 2
  }
}
