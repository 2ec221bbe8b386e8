import TestSupport
import Testing

@testable import VirgaHTTP

@Suite struct DeadlineQueueTests {
  @Test(arguments: [1, 2, 3])
  func entriesComeInTheOrderOfTheirInstants(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var queue = DeadlineQueue()
    var waiting: [Int64] = []
    for now in 0..<2_000 as Range<Int64> {
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        let instant = now + Int64.random(in: 0...50, using: &random)
        queue.insert(.init(instant: Instant(nanoseconds: instant), key: SourceKey(slot: 1, generation: 2)))
        waiting.append(instant)
      }
      #expect(queue.earliest?.nanoseconds == waiting.min())
      var come: [Int64] = []
      while let entry = queue.removeFirst(notAfter: Instant(nanoseconds: now)) {
        come.append(entry.instant.nanoseconds)
      }
      #expect(come == waiting.filter { $0 <= now }.sorted())
      waiting.removeAll { $0 <= now }
    }
    #expect(queue.isEmpty == waiting.isEmpty)
  }

  @Test func instantsDoNotOverflow() {
    let instant = Instant(nanoseconds: 5)
    #expect(instant + .nanoseconds(3) == Instant(nanoseconds: 8))
    #expect(instant + .milliseconds(1_500) == Instant(nanoseconds: 1_500_000_005))
    #expect(instant + .seconds(Int64.max / 2) == .never)
    #expect(Instant.never + .seconds(1) == .never)
  }

  @Test func keysSurviveTheirBits() {
    let key = SourceKey(slot: 0xffff_fffe, generation: 0x8000_0001)
    #expect(SourceKey(bits: key.bits) == key)
  }
}
