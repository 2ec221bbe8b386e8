import Synchronization
import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaServerSQLite
import VirgaWire

/// Eight clients at once on the durable store: there is an order in which one client alone on the memory store would
/// have got the very same answers, byte for byte.
@Suite(.timeLimit(.minutes(2))) struct ConcurrentStreamTests {
  private static let clients = 8
  private static let steps = 60

  private struct Step: Sendable {
    var call: Call
    var context: CallContext

    func run(_ transaction: any WriteTransaction) throws -> [UInt8] {
      var context = context
      do {
        let reply = try Service().write(call, in: transaction, context: &context)
        return reply.encoded(extensions: true, uuid: "u")
      } catch let error as ServiceError {
        return error.encoded(uuid: "u")
      }
    }
  }

  /// In which order the writer ran the steps.
  private final class SharedLog: Sendable {
    private let state = Mutex((order: [Int: Int](), count: 0))

    var order: [Int: Int] { state.withLock { $0.order } }

    func note(_ id: Int) {
      state.withLock { state in
        state.count += 1
        state.order[id] = state.count
      }
    }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64]) func answersAreThoseOfSomeOrder(seed: UInt64) async throws {
    let folder = TemporaryFolder()
    let durable = try SQLiteStore(folder: folder.path)
    let log = SharedLog()
    let answers = try await withThrowingTaskGroup(of: [(Int, Step, [UInt8])].self) { group in
      for client in 0..<Self.clients {
        group.addTask {
          var random = SplitMix64(seed: seed &* 1_000 &+ UInt64(client))
          var done: [(Int, Step, [UInt8])] = []
          var lastTags: [RecordName: ChangeTag] = [:]
          for number in 0..<Self.steps {
            let id = client * Self.steps + number
            let step = Self.step(client: client, number: id, tags: lastTags, &random)
            let answer = try await durable.writing { transaction in
              let answer = try step.run(transaction)
              // The writer runs bodies one after another; one that runs again counts by its last time.
              log.note(id)
              return answer
            }
            if let reply = try? Reply(decoding: answer, for: step.call.operation), case .records(let found) = reply {
              for case .record(let record) in found.records { lastTags[record.id.name] = record.tag }
            }
            done.append((id, step, answer))
          }
          return done
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    durable.close()
    let order = log.order
    let oracle = MemoryStore()
    for (id, step, answer) in answers.sorted(by: { order[$0.0, default: 0] < order[$1.0, default: 0] }) {
      let expected = try await oracle.writing { try step.run($0) }
      #expect(
        answer == expected,
        """
        seed \(seed), step \(id), \(step.call.operation): \(String(decoding: answer, as: UTF8.self))
        instead of \(String(decoding: expected, as: UTF8.self))
        """)
    }
  }

  private static func step(
    client: Int, number: Int, tags: [RecordName: ChangeTag], _ random: inout SplitMix64
  ) -> Step {
    let zone = ZoneSelector(["Diary", "Diary", "Trips"][Int(random.next() % 3)])
    let call: Call
    switch random.next() % 12 {
    case 0: call = .zonesModify(ZonesModifyRequest(operations: [.init(.create, zone)]))
    case 1 where number % 7 == 0: call = .zonesModify(ZonesModifyRequest(operations: [.init(.delete, zone)]))
    case 2: call = .changesZone([ZoneChangesRequest(zone: zone, resultsLimit: Int(random.next() % 5) + 1)])
    case 3: call = .changesDatabase(DatabaseChangesRequest())
    case 4:
      let names = (0..<3).map { _ in RecordsLookupRequest.Item(name(&random)) }
      call = .recordsLookup(RecordsLookupRequest(records: names, zone: zone))
    default:
      var seen: Set<RecordName> = []
      let operations = (0...Int(random.next() % 3)).compactMap { _ -> RecordOperation? in
        let name = name(&random)
        guard seen.insert(name).inserted else { return nil }
        let kinds = RecordOperation.Kind.allCases
        let kind = kinds[Int(random.next() % UInt64(kinds.count))]
        var change = RecordChange(name: name, type: "Note")
        if kind.comparesTag { change.tag = tags[name] ?? ChangeTag(sequence: 1) }
        if !kind.isDelete { change.fields = [FieldChange("text", Field(.string("\(client) \(number)")))] }
        return RecordOperation(kind, change)
      }
      let isAtomic = random.next() % 2 == 0
      call = .recordsModify(RecordsModifyRequest(operations: operations, zone: zone, atomic: isAtomic))
    }
    let endpoint = Endpoint(
      container: "iCloud.test", environment: .development, scope: .private, operation: call.operation)
    var context = CallContext(
      endpoint: endpoint,
      principal: Principal(user: "_alice", account: nil, device: DeviceID("device\(client)")),
      now: Timestamp(milliseconds: 1_700_000_000_000 + Int64(number)), random: SplitMix64(seed: random.next()),
      urls: TestURLs())
    context.wantsExtensions = true
    return Step(call: call, context: context)
  }

  private static func name(_ random: inout SplitMix64) -> RecordName { RecordName("r\(random.next() % 8)") }
}
