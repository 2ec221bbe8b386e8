import Testing

@testable import VirgaServerSQLite

struct StoreGroupPaceTests {
  /// The pace after commits of 1 ms with these numbers of jobs.
  func pace(after jobCounts: [Int]) -> GroupPace {
    var pace = GroupPace(quickTime: .milliseconds(1))
    for count in jobCounts { pace.note(jobCount: count, commit: .milliseconds(1)) }
    return pace
  }

  @Test func aCallerAloneNeverWaits() {
    #expect(GroupPace(quickTime: .milliseconds(1)).wait(performedCount: 1, elapsed: .zero) == .zero)
    #expect(pace(after: [1, 1, 1]).wait(performedCount: 1, elapsed: .zero) == .zero)
    let crowdLeft = pace(after: [16, 16, 16] + Array(repeating: 1, count: 5))
    #expect(crowdLeft.wait(performedCount: 1, elapsed: .zero) == .zero)
  }

  @Test func aCrowdWaitsForItsLatecomersUpToHalfACommit() {
    let pace = pace(after: Array(repeating: 16, count: 10))
    #expect(pace.wait(performedCount: 16, elapsed: .zero) == .zero)
    let wait = pace.wait(performedCount: 1, elapsed: .zero)
    #expect(wait > .microseconds(400) && wait <= .microseconds(500))
    #expect(pace.wait(performedCount: 1, elapsed: .milliseconds(1)) == .zero)
  }

  @Test func aSlowDiskDoesNotMakeTheWaitLong() {
    var pace = GroupPace(quickTime: .milliseconds(1))
    for _ in 0..<20 { pace.note(jobCount: 8, commit: .seconds(1)) }
    #expect(pace.wait(performedCount: 1, elapsed: .zero) == .milliseconds(2))
  }

  @Test func aCallerAloneNeedsNoThreadOfTheStoreWhereTheDiskIsQuick() {
    func isQuick(_ jobCounts: [Int], _ commit: Duration) -> Bool {
      var pace = GroupPace(quickTime: .milliseconds(1))
      for count in jobCounts { pace.note(jobCount: count, commit: commit) }
      return pace.isQuickForOne
    }
    #expect(!isQuick([], .zero), "nothing is known of the disk yet")
    #expect(isQuick([1, 1, 1], .microseconds(200)))
    #expect(!isQuick([8, 8, 8], .microseconds(200)))
    #expect(isQuick([8, 8, 8, 1, 1, 1, 1], .microseconds(200)))
    #expect(!isQuick([1], .seconds(1)), "one slow commit is enough")
    #expect(!isQuick(Array(repeating: 1, count: 20), .milliseconds(2)))
  }

  @Test func aCommitOfNothingSaysNothingOfTheDisk() {
    var pace = GroupPace(quickTime: .milliseconds(1))
    pace.note(jobCount: 1, commit: .milliseconds(10))
    for _ in 0..<20 { pace.note(jobCount: 1, commit: nil) }
    #expect(!pace.isQuickForOne)
  }
}
