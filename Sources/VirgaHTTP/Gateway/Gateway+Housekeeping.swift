import Synchronization
import VirgaModel
import VirgaServer

/// Rings when zones may have left records that nobody sees any more.
final class RemovalSignal: Sendable {
  private let isRinging = Atomic(false)

  func ring() { isRinging.store(true, ordering: .relaxed) }

  /// Whether it rang since this was last asked.
  func take() -> Bool { isRinging.exchange(false, ordering: .relaxed) }
}

extension Gateway {
  private static let collectionTime: Duration = .seconds(600)
  private static let assetsPerCollection = 100
  private static let roundsPerCollection = 10_000

  /// Ends polls whose time is over and clears away what nobody needs, until the task is cancelled.
  /// - Parameter clock: Measures seconds.
  package func run(clock: any Clock<Duration> = ContinuousClock()) async {
    async let ticks: Void = tick(clock)
    async let removing: Void = clearRemovedRecords(clock)
    await removeStrays()
    while !Task.isCancelled {
      await clearAway()
      do { try await clock.sleep(for: Self.collectionTime) } catch { break }
    }
    await ticks
    await removing
  }

  /// Ends polls whose time is over, removes what was delivered and drops pages that nobody asks for, however long
  /// clearing away takes.
  private func tick(_ clock: any Clock<Duration>) async {
    while !Task.isCancelled {
      do { try await clock.sleep(for: .seconds(1)) } catch { break }
      polls.tick()
      pages.tick()
      await removeDelivered()
    }
    await removeDelivered()
  }

  /// Clears away what deleted zones held soon after, a little at a time, so that saves in between wait for a little only.
  private func clearRemovedRecords(_ clock: any Clock<Duration>) async {
    while !Task.isCancelled {
      do { try await clock.sleep(for: .seconds(1)) } catch { return }
      guard removals.take() else { continue }
      do { try await perform([.removedRecords], now: configuration.now()) } catch {
        configuration.log("clearing away deleted zones: \(error)")
      }
    }
  }

  /// Forgets tombstones, versions and receipts past their age, and removes assets that no record claims and uploads
  /// that were cut off. A failure is logged and made up for at the next time.
  package func clearAway() async {
    let now = configuration.now()
    do {
      let steps = try await store.read { [service] in try service.compactionSteps(in: $0, now: now) }
      try await perform(steps, now: now)
      if Task.isCancelled { return }
      try await collectAssets(now: now)
      try await assets.removeUploads(before: Int((now - .seconds(86_400)).milliseconds / 1_000))
    } catch {
      configuration.log("clearing away: \(error)")
    }
  }

  /// Performs steps, and again those of which more is likely: in turns, so that none keeps the others waiting, and not for
  /// ever, so that what comes after has its turn too.
  private func perform(_ steps: [CompactionStep], now: Timestamp) async throws {
    var rest = steps
    for _ in 0..<Self.roundsPerCollection where !rest.isEmpty {
      var unfinished: [CompactionStep] = []
      for step in rest {
        if Task.isCancelled { return }
        let isMoreLikely = try await store.write { [service] in try service.perform(step, in: $0, now: now) }
        if isMoreLikely { unfinished.append(step) }
      }
      rest = unfinished
    }
  }

  /// Removes bytes without a row, which a stop between the two leaves behind.
  private func removeStrays() async {
    let before = configuration.now() - Limits.unreferencedAssetAge
    do {
      let all = try await assets.checksums(writtenBefore: Int(before.milliseconds / 1_000))
      for start in stride(from: 0, to: all.count, by: Self.assetsPerCollection) {
        if Task.isCancelled { return }
        try await removeStrays(among: all[start..<min(start + Self.assetsPerCollection, all.count)])
      }
    } catch {
      configuration.log("removing strays: \(error)")
    }
  }

  /// Removes those bytes that no row knows.
  func removeStrays(among checksums: ArraySlice<String>) async throws {
    try await assets.gate.alone {
      let strays = try await store.read { transaction in try checksums.filter { try transaction.asset($0) == nil } }
      await assets.remove(checksums: strays)
    }
  }

  /// Removes the rows and then the bytes of assets that nobody claims any more.
  private func collectAssets(now: Timestamp) async throws {
    var isMoreLikely = true
    while isMoreLikely, !Task.isCancelled {
      let count = try await assets.gate.alone {
        let checksums = try await store.write { [service] in
          try service.collectAssets(in: $0, now: now, limit: Self.assetsPerCollection)
        }
        // A stop before this leaves bytes without a row, which the next start removes.
        await assets.remove(checksums: checksums)
        return checksums.count
      }
      isMoreLikely = count == Self.assetsPerCollection
    }
  }
}
