import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

/// The newest versions of records that were saved lately, as far as this process answered them.
///
/// A save that names an older one is in conflict, whatever else is under way, so that a snapshot can answer it and the writer
/// need not. What is remembered is a hint: nothing is answered from it, and other processes may write beside this one.
final class RecentVersions: Sendable {
  private static let countMax = 8_192

  /// Sequences by the hashes of records. Two records that share one cost a look at a snapshot.
  private let sequences = Mutex<[Int: Int64]>([:])

  /// Notes what a save of one record answered.
  func note(_ reply: Reply, to call: Call, _ context: CallContext) {
    guard let key = key(of: call, context), case .records(let reply) = reply else { return }
    let newest: RecordEnvelope? =
      switch reply.records.first {
      case .record(let record): record
      case .failure(let failure): failure.serverRecord
      default: nil
      }
    guard let sequence = newest?.tag.sequence else { return }
    sequences.withLock {
      if $0.count >= Self.countMax { $0.removeAll(keepingCapacity: true) }
      $0[key] = max($0[key] ?? 0, sequence)
    }
  }

  /// Whether the call saves one record over an older version than the newest.
  func isStale(_ call: Call, _ context: CallContext) -> Bool {
    guard case .recordsModify(let request) = call, let sequence = request.operations.first?.record.tag?.sequence,
      let key = key(of: call, context)
    else { return false }
    return sequences.withLock { $0[key].map { sequence < $0 } ?? false }
  }

  /// Of a save of one record by its tag, in a database of the caller's own.
  private func key(of call: Call, _ context: CallContext) -> Int? {
    guard context.endpoint.scope == .private, case .recordsModify(let request) = call, request.operations.count == 1,
      request.operations[0].kind.comparesTag, let record = request.operations[0].record.name
    else { return nil }
    var hasher = Hasher()
    hasher.combine(context.endpoint.container)
    hasher.combine(context.endpoint.environment)
    hasher.combine(context.principal.user)
    hasher.combine(request.zone.name)
    hasher.combine(record)
    return hasher.finalize()
  }
}
