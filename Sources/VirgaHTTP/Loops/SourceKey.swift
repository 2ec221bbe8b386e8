/// Names what a loop watches. The generation tells it from what took its place in the table later.
struct SourceKey: Hashable, Sendable {
  var slot: UInt32
  var generation: UInt32

  var bits: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(bits: UInt64) { self.init(slot: UInt32(truncatingIfNeeded: bits), generation: UInt32(bits >> 32)) }
}
