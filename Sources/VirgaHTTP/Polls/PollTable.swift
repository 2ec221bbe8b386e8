import Synchronization
import VirgaServer

/// The push queues that clients wait at: their parked polls, and what is known of what waits in each.
///
/// A queue is looked at in the store when the first poll comes. From then on its notifications are handed over in memory,
/// after their commit, for as long as clients come back; the store's rows are there for a stop, and are removed once a
/// second. That relies on this process being the only one that writes the store.
final class PollTable: Sendable {
  /// What a poll is to do next.
  enum Step: Sendable {
    /// Look at the queue in the store, and say what was found with `noteLook` and this number.
    case look(Int)
    /// Answer with this, then call `noteDelivery`, or `release` if it did not arrive.
    case give(NotificationRow, PushQueue)
    case wait
  }

  /// A queue as a look at the store found it.
  struct Found: Sendable {
    let queue: PushQueue
    /// The oldest first.
    let waiting: [NotificationRow]
  }

  fileprivate struct Queue {
    enum Knowledge {
      case unknown
      /// With what was handed over meanwhile.
      case looking(number: Int, news: [NotificationRow])
      case known(PushQueue)
    }

    /// The oldest first.
    var polls: [ParkedPoll] = []
    /// Those of them that were told to wait.
    var waiters: [ParkedPoll] = []
    var knowledge = Knowledge.unknown
    /// What the next polls are given, the oldest first, if the queue is known.
    var waiting: [NotificationRow] = []
    /// On the way to a client, or delivered and still in the store.
    var claimed: Set<Int64> = []
    /// Delivered, to be removed from the store.
    var delivered: [Int64] = []
    /// The newest number that a look found, and that was handed over.
    var newestFound: Int64 = 0
    var newestHanded: Int64 = 0
    var looks = 0
    var lastTick = 0

    var isIdle: Bool { polls.isEmpty && claimed.isEmpty }
  }

  fileprivate struct State {
    var queues: [String: Queue] = [:]
    var tick = 0
    var deliveredCount = 0
  }

  /// Polls of one token at a time; a further one ends the oldest.
  static let pollsPerTokenMax = 4
  /// Notifications of one queue that are kept in memory for polls to come; the store has them all.
  private static let waitingMax = 8
  /// For so long, in ticks, a queue stays known after its last poll.
  private static let ticksAfterPoll = 60

  private let state = Mutex(State())
  private let ticksPerPoll: Int

  /// - Parameter seconds: How long a poll is parked, in ticks of a second.
  init(seconds: Duration) { ticksPerPoll = max(1, Int(seconds.components.seconds)) }

  var count: Int { state.withLock { $0.queues.values.reduce(0) { $0 + $1.polls.count } } }

  /// Notifications that went to a client.
  var delivered: Int { state.withLock { $0.deliveredCount } }

  /// Whether a client waits at a queue, or did a moment ago.
  func isAwaited(_ token: String) -> Bool { state.withLock { $0.queues[token] != nil } }

  // MARK: A poll

  func begin(_ token: String) -> ParkedPoll {
    let (poll, displaced) = state.withLock { state in
      let poll = ParkedPoll(token: token, lastTick: state.tick + ticksPerPoll)
      let displaced = state.change(token) { queue in
        defer { queue.polls.append(poll) }
        return queue.polls.count >= Self.pollsPerTokenMax ? queue.polls.removeFirst() : nil
      }
      return (poll, displaced)
    }
    displaced?.resolve(.over)
    return poll
  }

  func end(_ poll: ParkedPoll) {
    state.withLock { state in
      state.change(poll.token) { queue in
        queue.polls.removeAll { $0 === poll }
        queue.waiters.removeAll { $0 === poll }
      }
    }
  }

  func next(_ poll: ParkedPoll) -> Step {
    state.withLock { state in
      state.change(poll.token) { queue in
        switch queue.knowledge {
        case .unknown:
          queue.looks += 1
          queue.knowledge = .looking(number: queue.looks, news: [])
          return .look(queue.looks)
        case .known(let facts) where !queue.waiting.isEmpty:
          let row = queue.waiting.removeFirst()
          queue.claimed.insert(row.id)
          return .give(row, facts)
        case .looking, .known:
          poll.arm()
          queue.waiters.append(poll)
          return .wait
        }
      }
    }
  }

  /// - Parameter found: `nil` if the look failed; other polls then look for themselves.
  func noteLook(_ number: Int, at token: String, _ found: Found?) {
    let woken = state.withLock { state in
      state.change(token) { queue in
        // It may have been forgotten meanwhile.
        guard case .looking(number, let news) = queue.knowledge else { return [ParkedPoll]() }
        queue.knowledge = .unknown
        queue.waiting = []
        if let found {
          queue.knowledge = .known(found.queue)
          queue.waiting = found.waiting.filter { !queue.claimed.contains($0.id) }
          queue.newestFound = max(queue.newestFound, found.waiting.map(\.id).max() ?? 0)
          for row in news where row.id > queue.newestFound { queue.keep(row) }
        }
        return queue.takeWaiters()
      }
    }
    for poll in woken { poll.resolve(.woken) }
  }

  /// The notification went to its client.
  func noteDelivery(_ row: NotificationRow) {
    state.withLock { state in
      state.deliveredCount += 1
      state.change(row.pushToken) { $0.delivered.append(row.id) }
    }
  }

  /// The notification is to be removed without having been delivered.
  func drop(_ row: NotificationRow) {
    state.withLock { state in state.change(row.pushToken) { $0.delivered.append(row.id) } }
  }

  /// The notification did not arrive, and is given again.
  func release(_ row: NotificationRow) {
    state.withLock { state in _ = state.change(row.pushToken) { $0.claimed.remove(row.id) } }
    lookAgain(row.pushToken)
  }

  // MARK: News

  /// Hands notifications whose commit is durable to the polls that wait for them.
  func handOn(_ rows: [NotificationRow]) {
    var parked: [(continuation: ParkedPoll.Continuation, outcome: ParkedPoll.Outcome)] = []
    var woken: [ParkedPoll] = []
    state.withLock { state in
      for row in rows where state.queues[row.pushToken] != nil {
        state.change(row.pushToken) { queue in
          // A look has seen it, or what took its place.
          guard row.id > queue.newestFound else { return }
          guard row.id > queue.newestHanded else {
            // Out of order: what is true now is in the store.
            queue.forget()
            return woken += queue.takeWaiters()
          }
          queue.newestHanded = row.id
          switch queue.knowledge {
          case .unknown: break
          case .looking(let number, let news): queue.knowledge = .looking(number: number, news: news + [row])
          case .known(let facts):
            let outcome = ParkedPoll.Outcome.given(row, facts)
            while !queue.waiters.isEmpty {
              let (isTaken, continuation) = queue.waiters.removeFirst().accept(outcome)
              guard isTaken else { continue }
              queue.claimed.insert(row.id)
              if let continuation { parked.append((continuation, outcome)) }
              return
            }
            queue.keep(row)
            if queue.waiting.count > Self.waitingMax { queue.forget() }
          }
        }
      }
    }
    for one in parked { one.continuation.resume(returning: one.outcome) }
    for poll in woken { poll.resolve(.woken) }
  }

  /// Makes the polls of a token look at the store: its queue may have ended.
  func lookAgain(_ token: String) {
    let woken = state.withLock { state -> [ParkedPoll] in
      guard state.queues[token] != nil else { return [] }
      return state.change(token) { queue in
        queue.forget()
        return queue.takeWaiters()
      }
    }
    for poll in woken { poll.resolve(.woken) }
  }

  // MARK: Time

  /// A second has passed: polls whose time is over are answered.
  func tick() {
    let over = state.withLock { state in
      state.tick += 1
      let oldest = state.tick - Self.ticksAfterPoll
      state.queues = state.queues.filter { !$0.value.isIdle || $0.value.lastTick >= oldest }
      return state.queues.values.flatMap { queue in queue.polls.filter { $0.lastTick < state.tick } }
    }
    for poll in over { poll.resolve(.over) }
  }

  /// What was delivered and is still in the store, by token, for `noteRemoval`.
  func takeDelivered() -> [(token: String, ids: [Int64])] {
    state.withLock { state in
      var taken: [(token: String, ids: [Int64])] = []
      for (token, queue) in state.queues where !queue.delivered.isEmpty {
        taken.append((token, queue.delivered))
        state.queues[token]?.delivered = []
      }
      return taken.sorted { $0.token < $1.token }
    }
  }

  /// - Parameter isDone: Otherwise it is tried again.
  func noteRemoval(_ removed: [(token: String, ids: [Int64])], isDone: Bool) {
    state.withLock { state in
      for (token, ids) in removed where state.queues[token] != nil {
        state.change(token) { queue in
          if isDone { queue.claimed.subtract(ids) } else { queue.delivered += ids }
        }
      }
    }
  }
}

fileprivate extension PollTable.State {
  /// Changes a queue, which is made if it is missing, and dropped if nothing is to be remembered of it.
  mutating func change<Value>(_ token: String, _ body: (inout PollTable.Queue) -> Value) -> Value {
    let tick = tick
    return { (queue: inout PollTable.Queue?) in
      var changed = queue ?? PollTable.Queue()
      queue = nil
      if !changed.polls.isEmpty { changed.lastTick = tick }
      let value = body(&changed)
      if case .unknown = changed.knowledge, changed.isIdle { return value }
      queue = changed
      return value
    }(&queues[token])
  }
}

fileprivate extension PollTable.Queue {
  /// Keeps a notification for a poll to come. One that tells the same takes the place of an older one, as in the store.
  mutating func keep(_ row: NotificationRow) {
    waiting.removeAll { $0.coalescingKey.utf8.elementsEqual(row.coalescingKey.utf8) }
    waiting.append(row)
  }

  /// What is known no longer counts: the next poll looks at the store.
  mutating func forget() {
    knowledge = .unknown
    waiting = []
  }

  mutating func takeWaiters() -> [ParkedPoll] {
    defer { waiters = [] }
    return waiters
  }
}
