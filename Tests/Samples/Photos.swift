import CloudKit

// The shape of an app with files: a picture goes up as an asset, and comes down into the app's own folder.

func photosApp(_ folder: URL, _ action: String, _ words: [String]) async throws {
  let database = CKContainer.default().privateCloudDatabase
  switch action {
  case "add":
    let file = folder.appendingPathComponent("picture.bin")
    try Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: file)
    let record = CKRecord(recordType: "Photo", recordID: CKRecord.ID(recordName: words[0]))
    record["title"] = words[1]
    record["image"] = CKAsset(fileURL: file)
    let progress = Steps()
    let operation = CKModifyRecordsOperation(recordsToSave: [record], recordIDsToDelete: nil)
    operation.perRecordProgressBlock = { _, done in progress.values.append(done) }
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
      operation.modifyRecordsResultBlock = { continuation.resume(with: $0) }
      database.add(operation)
    }
    print("progress ends with: \(progress.values.last ?? 0)")
  case "get":
    let record = try await database.record(for: CKRecord.ID(recordName: words[0]))
    guard let asset = record["image"] as? CKAsset, let url = asset.fileURL else { return print("no file") }
    let copy = folder.appendingPathComponent("copy.bin")
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.copyItem(at: url, to: copy)
    let bytes = [UInt8](try Data(contentsOf: copy))
    let isWhole = bytes.indices.allSatisfy { bytes[$0] == UInt8(truncatingIfNeeded: $0 &* 31) }
    print("photo: \(record["title"] as? String ?? "") \(bytes.count) \(isWhole)")
  case "titles":
    let id = CKRecord.ID(recordName: words[0])
    let results = try await database.records(for: [id], desiredKeys: ["title"])
    let record = try results[id]!.get()
    print("title: \(record["title"] as? String ?? ""), image: \(record["image"] == nil ? "left out" : "there")")
  case "clear":
    let record = try await database.record(for: CKRecord.ID(recordName: words[0]))
    record["image"] = nil
    _ = try await database.save(record)
  default: break
  }
}

private final class Steps: @unchecked Sendable { var values: [Double] = [] }
