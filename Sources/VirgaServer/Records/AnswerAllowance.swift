import VirgaModel
import VirgaWire

/// The bytes of records that an answer may still take where no page bounds it.
struct AnswerAllowance {
  private var taken = 0

  /// - Throws: `limitExceeded` for a record that has no place any more. Clients divide a request that fails so as a
  ///   whole.
  /// - Parameter fieldsJSON: What is shown of its fields.
  mutating func take(_ record: StoredRecord, showing fieldsJSON: [UInt8]) throws {
    let bytes = fieldsJSON.count + record.unknownMembers.count + Limits.recordOverheadBytes
    try Limits.check(taken + bytes, atMost: Limits.answerBytesMax, "bytes of records in one answer")
    taken += bytes
  }

  mutating func take(_ record: StoredRecord) throws { try take(record, showing: record.fieldsJSON) }

  /// Takes a record that may also be left out.
  /// - Returns: Whether it has a place.
  mutating func takes(_ record: StoredRecord) -> Bool {
    let bytes = record.fieldsJSON.count + record.unknownMembers.count + Limits.recordOverheadBytes
    guard taken + bytes <= Limits.answerBytesMax else { return false }
    taken += bytes
    return true
  }
}
