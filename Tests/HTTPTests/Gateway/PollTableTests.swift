import Testing
import VirgaModel

@testable import VirgaHTTP
@testable import VirgaServer

/// Looks, news and polls in every order that threads may bring.
@Suite(.timeLimit(.minutes(1))) struct PollTableTests {
  private let table = PollTable(seconds: .seconds(50))
  private let queue = PushQueue(container: "iCloud.test", environment: .development, user: "_alice")

  private func row(_ id: Int64, _ key: String = "a") -> NotificationRow {
    NotificationRow(id: id, pushToken: "t", coalescingKey: key, payload: [UInt8(id)])
  }

  private func found(_ rows: [NotificationRow] = []) -> PollTable.Found { PollTable.Found(queue: queue, waiting: rows) }

  /// What a poll does next, in short: the number of a look or of a notification.
  private func next(_ poll: ParkedPoll) -> String {
    switch table.next(poll) {
    case .look(let number): "look \(number)"
    case .give(let row, _): "give \(row.id)"
    case .wait: "wait"
    }
  }

  private func outcome(_ poll: ParkedPoll) async -> String {
    switch await poll.wait() {
    case .given(let row, _): "give \(row.id)"
    case .woken: "woken"
    case .over: "over"
    }
  }

  @Test func whatALookFindsIsGivenOldestFirst() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found([row(1), row(2, "b")]))
    #expect(next(poll) == "give 1")
    #expect(next(poll) == "give 2")
    #expect(next(poll) == "wait")
  }

  @Test func newsOfACommitThatALookHasSeenIsGivenOnce() async {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.handOn([row(2)])
    table.noteLook(1, at: "t", found([row(1, "b"), row(2)]))
    table.handOn([row(1, "b")])
    #expect([next(poll), next(poll), next(poll)] == ["give 1", "give 2", "wait"])
    for row in [row(1, "b"), row(2)] { table.noteDelivery(row) }
    let removed = table.takeDelivered()
    #expect(removed.map(\.ids) == [[1, 2]])
    table.noteRemoval(removed, isDone: true)
    // Late news of a commit whose notification is gone already.
    table.handOn([row(2)])
    for _ in 0...51 { table.tick() }
    #expect(await outcome(poll) == "over")
  }

  @Test func newsThatComesDuringALookIsKept() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.handOn([row(5)])
    table.noteLook(1, at: "t", found([row(4, "b")]))
    #expect([next(poll), next(poll)] == ["give 4", "give 5"])
  }

  @Test func aLookThatWasOvertakenCountsForNothing() {
    let (first, second) = (table.begin("t"), table.begin("t"))
    #expect(next(first) == "look 1")
    table.lookAgain("t")
    #expect(next(second) == "look 2")
    table.noteLook(1, at: "t", found([row(1)]))
    #expect(next(first) == "wait")
    table.noteLook(2, at: "t", found([row(1), row(2, "b")]))
    #expect(next(second) == "give 1")
  }

  @Test func aFailedLookLeavesTheNextOneToAnother() async {
    let (first, second) = (table.begin("t"), table.begin("t"))
    #expect([next(first), next(second)] == ["look 1", "wait"])
    table.noteLook(1, at: "t", nil)
    table.end(first)
    #expect(await outcome(second) == "woken")
    #expect(next(second) == "look 2")
  }

  /// A fault on purpose loses a notification, and the poll that had it waits for the next one.
  @Test func aPollWhoseNotificationIsLostWaitsAgain() async {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    #expect(next(poll) == "wait")
    table.handOn([row(1)])
    #expect(await outcome(poll) == "give 1")
    table.drop(row(1))
    #expect(next(poll) == "wait")
    table.handOn([row(2, "b")])
    #expect(await outcome(poll) == "give 2")
  }

  @Test func newsOutOfOrderSendsThePollToTheStore() async {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    #expect(next(poll) == "wait")
    table.handOn([row(8)])
    #expect(await outcome(poll) == "give 8")
    table.handOn([row(7, "b")])
    #expect(next(poll) == "look 2")
    table.noteLook(2, at: "t", found([row(7, "b"), row(8)]))
    #expect([next(poll), next(poll)] == ["give 7", "wait"])
  }

  @Test func newsThatNobodyWaitsForReplacesWhatTellsTheSame() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    table.end(poll)
    table.handOn([row(1), row(2, "b")])
    table.handOn([row(3)])
    let again = table.begin("t")
    #expect([next(again), next(again), next(again)] == ["give 2", "give 3", "wait"])
  }

  @Test func newsBeyondWhatIsKeptIsFoundInTheStore() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    table.end(poll)
    let all = (1...20).map { row($0, "\($0)") }
    for row in all { table.handOn([row]) }
    let again = table.begin("t")
    #expect(next(again) == "look 1", "nothing is remembered of the queue")
    table.noteLook(1, at: "t", found(all))
    #expect((1...20).map { _ in next(again) } == (1...20).map { "give \($0)" })
  }

  @Test func noNewsIsMissedBetweenAskingAndWaiting() async {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    #expect(next(poll) == "wait")
    table.handOn([row(1)])
    for _ in 0...51 { table.tick() }
    #expect(await outcome(poll) == "give 1", "what was given is not lost to the end of the time")
    table.end(poll)
    #expect(table.count == 0)
  }

  @Test func newsForAPollThatIsOverWaitsForTheNext() async {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    #expect(next(poll) == "wait")
    for _ in 0...51 { table.tick() }
    table.handOn([row(1)])
    #expect(await outcome(poll) == "over")
    table.end(poll)
    #expect(next(table.begin("t")) == "give 1")
  }

  @Test func whatDidNotArriveIsLookedForAgain() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found([row(1)]))
    #expect(next(poll) == "give 1")
    table.release(row(1))
    #expect(next(poll) == "look 2")
    table.noteLook(2, at: "t", found([row(1)]))
    #expect(next(poll) == "give 1")
  }

  @Test func aRemovalThatFailsIsTriedAgainAndNothingIsGivenTwice() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found([row(1)]))
    #expect(next(poll) == "give 1")
    table.noteDelivery(row(1))
    table.noteRemoval(table.takeDelivered(), isDone: false)
    table.lookAgain("t")
    #expect(next(poll) == "look 2")
    table.noteLook(2, at: "t", found([row(1)]))
    #expect(next(poll) == "wait")
    #expect(table.takeDelivered().map(\.ids) == [[1]])
  }

  @Test func queuesThatNobodyAsksForAreForgotten() {
    let poll = table.begin("t")
    #expect(next(poll) == "look 1")
    table.noteLook(1, at: "t", found())
    table.end(poll)
    #expect(table.isAwaited("t"))
    for _ in 0...61 { table.tick() }
    #expect(!table.isAwaited("t"))
    // A token that there is not leaves nothing behind.
    let stranger = table.begin("u")
    #expect(next(stranger) == "look 1")
    table.noteLook(1, at: "u", nil)
    table.end(stranger)
    #expect(!table.isAwaited("u"))
  }
}
