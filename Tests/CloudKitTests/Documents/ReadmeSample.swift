import CloudKit

/// The README's sample, compiled. `DocumentCodeTests` compares the two.
@available(*, unavailable, message: "compiled, not run")
func readmeSample() async throws {
  let database = CKContainer(identifier: "iCloud.com.example.Notes").privateCloudDatabase
  let note = CKRecord(recordType: "Note")
  note["title"] = "Rain"
  note["stars"] = 5
  let saved = try await database.save(note)
  print(saved.recordChangeTag ?? "", saved["title"] as? String ?? "")
}
