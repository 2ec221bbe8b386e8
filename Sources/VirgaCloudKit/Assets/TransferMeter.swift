import Synchronization

/// Tells how far the assets of records are sent or fetched, whenever a hundredth more is.
///
/// What it tells of one record only rises, and lies between 0 and 1: the end is the record's own to tell.
final class TransferMeter: Sendable {
  private struct Gauge: Sendable {
    let total: Int64
    /// Bytes that are over, by the number of the asset.
    var moved: [Int: Int64] = [:]
    var told = 0
  }

  private struct State: Sendable {
    var gauges: [CKRecord.ID: Gauge] = [:]
    var news: [(id: CKRecord.ID, done: Double)] = []
    /// Whether some thread is telling; it tells what others add meanwhile, so that nothing is told out of order.
    var isTelling = false
  }

  private let state: Mutex<State>
  private let tell: @Sendable (CKRecord.ID, Double) -> Void

  /// - Parameter totals: The bytes of all assets of each record.
  init(_ totals: [CKRecord.ID: Int64], tell: @escaping @Sendable (CKRecord.ID, Double) -> Void) {
    state = Mutex(State(gauges: totals.filter { $0.value > 0 }.mapValues { Gauge(total: $0) }))
    self.tell = tell
  }

  /// Notes how many bytes of an asset are over. Any thread may call it.
  func note(_ bytes: Int64, ofAsset number: Int, of id: CKRecord.ID) {
    let isTeller = state.withLock { state in
      guard var gauge = state.gauges[id] else { return false }
      gauge.moved[number] = bytes
      let hundredths = Int(gauge.moved.values.reduce(0, +) * 100 / gauge.total)
      let isNews = hundredths > gauge.told && hundredths < 100
      if isNews {
        gauge.told = hundredths
        state.news.append((id, Double(hundredths) / 100))
      }
      state.gauges[id] = gauge
      defer { if isNews { state.isTelling = true } }
      return isNews && !state.isTelling
    }
    guard isTeller else { return }
    while let (id, done) = nextNews() { tell(id, done) }
  }

  private func nextNews() -> (id: CKRecord.ID, done: Double)? {
    state.withLock { state in
      guard !state.news.isEmpty else {
        state.isTelling = false
        return nil
      }
      return state.news.removeFirst()
    }
  }
}
