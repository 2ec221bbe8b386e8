import Testing
import VirgaServer

@testable import VirgaServerSQLite

struct StoreIndexBatchTests {
  private func batch(_ count: Int, keyBytes: Int) -> IndexBatch {
    var batch = IndexBatch()
    let key = [UInt8](repeating: 1, count: keyBytes)
    for _ in 0..<count { batch.append(IndexEntry(key: key, name: "r")) }
    return batch
  }

  @Test func aBatchIsFullByEntriesAndByBytes() {
    #expect(!batch(IndexBatch.entriesMax - 1, keyBytes: 1).isFull)
    #expect(batch(IndexBatch.entriesMax, keyBytes: 1).isFull)
    #expect(!batch(31, keyBytes: 1_048_576).isFull)
    #expect(batch(32, keyBytes: 1_048_576).isFull)
  }

  @Test func entriesAreTakenOutInTheirOrder() {
    var batch = IndexBatch()
    let entries = [IndexEntry(key: [2], name: "a"), IndexEntry(key: [1], name: "b"), IndexEntry(key: [1], name: "a")]
    for entry in entries { batch.append(entry) }
    #expect(batch.takeAll() == [entries[2], entries[1], entries[0]])
    #expect(batch.takeAll().isEmpty && !batch.isFull)
  }
}
