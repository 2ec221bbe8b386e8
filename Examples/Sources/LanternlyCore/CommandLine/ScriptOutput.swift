import Foundation
import VirgaDevices

/// The shapes that `--json` prints. Keys are English in every language, and stay.
enum ScriptOutput {
  struct VersionShape: Encodable {
    var number: Int64
    var reason: String
    var replaced: String
    var text: String

    init(_ version: StoredVersion) {
      number = version.number
      reason = version.reason.rawValue
      replaced = version.replacedAt.iso8601
      text = version.entry.text
    }
  }

  struct StatusShape: Encodable {
    struct Pending: Encodable {
      var saves: Int
      var deletes: Int
      var bytes: Int64
      var missingFiles: Int
    }
    struct Failure: Encodable {
      var code: String
      var message: String
      var record: String?
      var at: String
    }
    var state: String
    var isSyncing: Bool
    var home: String
    var device: String
    var account: String?
    var devices: Int?
    var entries: Int
    var attachments: Int
    var pending: Pending
    var lastSuccess: String?
    var lastError: Failure?
    var nextTry: String?
    /// Until when the server asks to send nothing.
    var heldUntil: String?
    var locked: Int
    /// Those among them that no device of the user's has encrypted.
    var notEncrypted: [String]
    var conflicts: Int
    var clockSkewSeconds: Double?
    var refused: [String: String]

    init(_ status: DiaryStatus, home: String, device: String, isSyncing: Bool, now: Moment) {
      state = status.state.rawValue
      self.isSyncing = isSyncing
      self.home = home
      self.device = device
      account = status.notes.account
      devices = status.notes.deviceCount
      entries = status.entries
      attachments = status.attachments
      pending = Pending(
        saves: status.pendingSaves, deletes: status.pendingDeletions, bytes: status.pendingBytes,
        missingFiles: status.missingFiles)
      lastSuccess = status.notes.lastSuccess?.iso8601
      lastError = status.notes.lastError.map {
        Failure(code: $0.code, message: $0.message, record: $0.record, at: $0.at.iso8601)
      }
      nextTry = isSyncing ? status.notes.nextTry?.iso8601 : nil
      heldUntil = status.notes.heldUntil(now)?.iso8601
      locked = status.locked
      notEncrypted = status.notEncrypted
      conflicts = status.conflicts
      clockSkewSeconds = status.notes.clockSkewSeconds
      refused = Dictionary(status.refused.map { ($0.record, $0.error ?? "") }) { first, _ in first }
    }
  }

  struct DeviceShape: Encodable {
    var id: String
    var name: String
    var fingerprint: String
    var enrolled: String
    var isThisDevice: Bool

    init(_ device: DeviceAccount.Device) {
      id = device.id
      name = device.name
      fingerprint = device.fingerprint
      enrolled = Moment(date: device.enrolled).iso8601
      isThisDevice = device.isThisDevice
    }
  }

  struct ConflictShape: Encodable {
    var kind: String
    var entry: String
    var copy: String?
    var field: String?
    var version: Int64?
    var at: String?
    var texts: [String]?

    init(_ conflict: DiaryConflict, texts: [String]?) {
      switch conflict {
      case .texts(let original, let copy):
        kind = "texts"
        entry = original.name
        self.copy = copy.name
      case .deletion(_, let entry, let moment):
        kind = "deletion"
        self.entry = entry.name
        at = moment.iso8601
      case .value(_, let entry, let field, let version, let moment):
        kind = "value"
        self.entry = entry.name
        self.field = field.rawValue
        self.version = version?.number
        at = moment.iso8601
      }
      self.texts = texts
    }
  }

  struct ImportShape: Encodable {
    var added: Int
    var updated: Int
    var unchanged: Int
    var kept: Int
    var attachments: Int
    /// All of them; the lists hold the first thousand.
    var skippedCount: Int
    var warningCount: Int
    var skipped: [String]
    var warnings: [String]

    init(_ summary: ImportSummary, note: (ImportNote) -> String) {
      added = summary.added
      updated = summary.updated
      unchanged = summary.unchanged
      kept = summary.kept
      attachments = summary.attachments
      skippedCount = summary.skipped.count
      warningCount = summary.warnings.count
      skipped = summary.skipped.listed.map(note)
      warnings = summary.warnings.listed.map(note)
    }
  }

  static func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self)
  }
}
