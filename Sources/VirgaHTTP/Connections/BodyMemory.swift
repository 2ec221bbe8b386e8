import Synchronization

/// The memory that bodies of requests, and answers that their clients have yet to take, hold overall and for each
/// address: a request is only looked at once its body is there, so whoever has no credentials can make the server keep as
/// much as one who has; and whoever asks for much and reads nothing makes it keep the answer.
///
/// Where there is no room, answers go whose clients hardly read, the slowest first.
final class BodyMemory: Sendable {
  /// What each body has for nothing, however large it gets; the limits of connections bound it.
  static let freeBytes = 65_536

  private struct State {
    var total = 0
    var byAddress: [String: Int] = [:]
    /// By the order in which they came.
    var answers: [UInt64: AnswerShare] = [:]
    var lastAnswer: UInt64 = 0

    mutating func give(_ count: Int, back address: String) {
      total -= count
      let rest = byAddress[address, default: 0] - count
      byAddress[address] = rest > 0 ? rest : nil
    }

    /// The answer that is read most slowly, if it is read too slowly to be waited for.
    func slowestAnswer(to address: String?, now: Instant) -> UInt64? {
      let judged = answers.compactMap { number, share -> (rate: Int64, number: UInt64)? in
        guard address == nil || share.address == address, let rate = share.rate(now: now) else { return nil }
        return rate < BodyMemory.bytesPerSecondMin ? (rate, number) : nil
      }
      return judged.min { ($0.rate, $0.number) < ($1.rate, $1.number) }?.number
    }
  }

  /// An answer that is read more slowly than this goes when there is no room.
  static let bytesPerSecondMin: Int64 = 65_536

  private let max: Int
  private let perAddressMax: Int
  private let countsLoopback: Bool
  private let state = Mutex(State())

  init(max: Int, perAddressMax: Int, countsLoopback: Bool) {
    self.max = max
    self.perAddressMax = perAddressMax
    self.countsLoopback = countsLoopback
  }

  var total: Int { state.withLock { $0.total } }

  fileprivate func take(_ count: Int, for address: String, now: Instant) -> Bool {
    var ended: [AnswerShare] = []
    let isTaken = state.withLock { state in
      while true {
        let ofAddress = state.byAddress[address, default: 0] + count
        let isExempt = !countsLoopback && SocketAddress.isLoopback(address)
        let addressIsFull = !isExempt && ofAddress > perAddressMax
        if state.total + count <= max, !addressIsFull {
          state.total += count
          state.byAddress[address] = ofAddress
          return true
        }
        guard let number = state.slowestAnswer(to: addressIsFull ? address : nil, now: now),
          let share = state.answers.removeValue(forKey: number)
        else { return false }
        state.give(share.count, back: share.address)
        ended.append(share)
      }
    }
    // Outside the lock, which those that end want.
    for share in ended { share.end(share) }
    return isTaken
  }

  fileprivate func giveBack(_ count: Int, of address: String) {
    state.withLock { $0.give(count, back: address) }
  }

  /// Takes room for an answer until `giveBack`.
  /// - Parameter end: Called on any thread when the answer has to go, which has given its room back then.
  /// - Returns: `nil` if there is no room.
  func share(
    ofAnswer count: Int, to address: String, now: Instant, end: @escaping @Sendable (AnswerShare) -> Void
  ) -> AnswerShare? {
    let beyond = Swift.max(0, count - Self.freeBytes)
    guard take(beyond, for: address, now: now) else { return nil }
    return state.withLock { state in
      state.lastAnswer += 1
      let share = AnswerShare(number: state.lastAnswer, count: beyond, address: address, began: now, end: end)
      state.answers[share.number] = share
      return share
    }
  }

  /// An answer is sent, or its connection is closed. Does nothing for one that had to go.
  func giveBack(_ share: AnswerShare) {
    state.withLock { state in
      guard state.answers.removeValue(forKey: share.number) != nil else { return }
      state.give(share.count, back: share.address)
    }
  }
}

/// What an answer takes that its client has yet to read.
final class AnswerShare: Sendable {
  private struct Progress {
    var sent: Int64 = 0
    /// Where the time that is measured began, and how much was sent then.
    var mark: Instant
    var sentAtMark: Int64 = 0
    var lastRate: Int64?
    var hasWaited = false
  }

  /// How long an answer is watched before it is called slow.
  static let patience: Duration = .seconds(2)

  fileprivate let number: UInt64
  fileprivate let count: Int
  fileprivate let address: String
  fileprivate let end: @Sendable (AnswerShare) -> Void
  private let progress: Mutex<Progress>

  fileprivate init(
    number: UInt64, count: Int, address: String, began: Instant, end: @escaping @Sendable (AnswerShare) -> Void
  ) {
    self.number = number
    self.count = count
    self.address = address
    self.end = end
    progress = Mutex(Progress(mark: began))
  }

  /// Notes how much the system has taken of the answer so far.
  func note(sent: Int64, now: Instant) {
    progress.withLock { progress in
      progress.sent = sent
      guard let rate = Self.rate(progress, now) else { return }
      progress.lastRate = rate
      progress.mark = now
      progress.sentAtMark = sent
    }
  }

  /// Notes that the system takes no more for now. What it took at once, up to the first time, says nothing of the reader.
  func noteWait(sent: Int64, now: Instant) {
    progress.withLock { progress in
      guard !progress.hasWaited else { return }
      progress.hasWaited = true
      (progress.sent, progress.sentAtMark, progress.mark, progress.lastRate) = (sent, sent, now, nil)
    }
  }

  /// Bytes a second lately; `nil` of one that is too young to say.
  fileprivate func rate(now: Instant) -> Int64? {
    progress.withLock { progress in
      guard let rate = Self.rate(progress, now) else { return progress.lastRate }
      progress.lastRate = rate
      progress.mark = now
      progress.sentAtMark = progress.sent
      return rate
    }
  }

  private static func rate(_ progress: Progress, _ now: Instant) -> Int64? {
    let nanoseconds = now.nanoseconds - progress.mark.nanoseconds
    guard now >= progress.mark + patience else { return nil }
    return (progress.sent - progress.sentAtMark) * 1_000 / Swift.max(1, nanoseconds / 1_000_000)
  }
}

/// What one body has taken: at first its connection's, then that of the request's task. It is given back with the last
/// reference, or before.
final class BodyShare: Sendable {
  private let memory: BodyMemory
  private let address: String
  private let taken = Atomic<Int>(0)

  init(of memory: BodyMemory, for address: String) {
    self.memory = memory
    self.address = address
  }

  deinit { giveBack() }

  /// - Precondition: Called by the connection alone.
  /// - Throws: 503 if there is no room for so many bytes.
  func grow(to count: Int, now: Instant) throws(HTTPRefusal) {
    let missing = count - BodyMemory.freeBytes - taken.load(ordering: .relaxed)
    guard missing > 0 else { return }
    guard memory.take(missing, for: address, now: now) else { throw .crowded }
    taken.add(missing, ordering: .relaxed)
  }

  func giveBack() { memory.giveBack(taken.exchange(0, ordering: .relaxed), of: address) }
}
