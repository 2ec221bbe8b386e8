import Testing

@testable import LanternlyCore

struct EntryMergeTests {
  static let id = EntryID("e1")

  static func entry(_ text: String, at seconds: Int64 = 10) -> Entry {
    let moment = Moment(seconds: seconds)
    return Entry(text: text, written: Written(moment: Moment(seconds: 1), zone: "GMT"), edited: EditTimes(all: moment))
  }

  private func merge(_ base: Entry?, _ mine: Entry, _ theirs: Entry) -> EntryMerge {
    let merged = EntryMerge.merge(id: Self.id, base: base, mine: mine, theirs: theirs)
    #expect(merged == EntryMerge.merge(id: Self.id, base: base, mine: theirs, theirs: mine))
    return merged
  }

  /// C33: the later edit wins, in whatever order edits, sends and fetches come; equal times have a fixed winner.
  @Test(arguments: [(30, 60, 4), (60, 30, 2), (30, 30, 4)]) func laterEditOfOneFieldWins(
    mineAt: Int64, theirsAt: Int64, mood: Int
  ) {
    let base = Self.entry("a")
    var (mine, theirs) = (base, base)
    mine.mood = 2
    mine.edited.mood = Moment(seconds: mineAt)
    theirs.mood = 4
    theirs.edited.mood = Moment(seconds: theirsAt)
    let merged = merge(base, mine, theirs)
    #expect(merged.entry.mood == mood)
    #expect(merged.losses.map(\.field) == [.mood])
    #expect(merged.fork == nil)
  }

  @Test func editsOfDifferentFieldsBothStay() {
    let base = Self.entry("a")
    var (mine, theirs) = (base, base)
    mine.isStarred = true
    mine.edited.starred = Moment(seconds: 90)
    theirs.text = "b"
    theirs.edited.text = Moment(seconds: 20)
    theirs.device = "laptop"
    let merged = merge(base, mine, theirs)
    #expect(merged.entry.isStarred)
    #expect(merged.entry.text == "b")
    #expect(merged.entry.device == "laptop")
    #expect(merged.losses.isEmpty)
  }

  /// C39: base {x, y}; one adds z, the other removes x and adds w.
  @Test func tagsMergeAsASet() {
    var base = Self.entry("a")
    base.tags = ["x": Moment(seconds: 1), "y": Moment(seconds: 1)]
    var (mine, theirs) = (base, base)
    mine.tags["z"] = Moment(seconds: 5)
    theirs.tags["x"] = nil
    theirs.tags["w"] = Moment(seconds: 6)
    #expect(merge(base, mine, theirs).entry.tagNames == ["w", "y", "z"])
  }

  /// C39: removed on one device while the other adds it again.
  @Test func tagAddedAgainStays() {
    var base = Self.entry("a")
    base.tags = ["x": Moment(seconds: 1)]
    var (mine, theirs) = (base, base)
    mine.tags = [:]
    theirs.tags["x"] = Moment(seconds: 5)
    #expect(merge(base, mine, theirs).entry.tagNames == ["x"])
  }

  /// C44: both texts stay, and two devices that fork at once make one copy.
  @Test func textsThatBothChangedAreKeptTwice() throws {
    let base = Self.entry("morning")
    var (mine, theirs) = (base, base)
    (mine.text, mine.edited.text, mine.device) = ("morning, rain", Moment(seconds: 20), "phone")
    (theirs.text, theirs.edited.text, theirs.device) = ("morning, sun", Moment(seconds: 30), "laptop")
    let merged = merge(base, mine, theirs)
    let fork = try #require(merged.fork)
    #expect(merged.entry.text == "morning, sun")
    #expect(merged.entry.device == "laptop")
    #expect(fork.entry.text == "morning, rain")
    #expect(fork.entry.device == "phone")
    #expect(fork.entry.copyOf == Self.id)
    #expect(fork.id == EntryID.fork(of: Self.id, texts: ("morning, sun", "morning, rain")))
  }

  /// C18: the edit stays and the clash is told; the same on both sides.
  @Test func editWinsOverDeletion() {
    let base = Self.entry("a")
    var mine = base
    mine.text = "a, and more"
    mine.edited.text = Moment(seconds: 20)
    let deleted = base.deleted(at: Moment(seconds: 30), device: "laptop")
    let merged = merge(base, mine, deleted)
    #expect(merged.entry.text == "a, and more")
    #expect(!merged.entry.isDeleted)
    #expect(merged.isDeletionUndone)
  }

  @Test func deletionOfAnUneditedEntryIsTaken() {
    let base = Self.entry("a")
    let deleted = base.deleted(at: Moment(seconds: 30), device: "laptop")
    let merged = merge(base, base, deleted)
    #expect(merged.entry == deleted)
    #expect(!merged.isDeletionUndone)
  }

  /// Another account holds what was deleted in this one.
  @Test func withoutAncestorTheDeletionOfThatVeryVersionIsTaken() {
    let entry = Self.entry("a")
    let deleted = entry.deleted(at: Moment(seconds: 30), device: "laptop")
    #expect(merge(nil, entry, deleted).entry == deleted)
    var edited = entry
    edited.edited.mood = Moment(seconds: 20)
    #expect(merge(nil, edited, deleted).isDeletionUndone)
  }

  @Test func withoutAncestorEqualTextsAreOne() {
    var (mine, theirs) = (Self.entry("a"), Self.entry("a", at: 20))
    mine.tags = ["x": Moment(seconds: 1)]
    theirs.tags = ["y": Moment(seconds: 1)]
    let merged = merge(nil, mine, theirs)
    #expect(merged.fork == nil)
    #expect(merged.entry.tagNames == ["x", "y"])
    #expect(merge(nil, Self.entry("a"), Self.entry("b")).fork != nil)
  }

  /// Exchanging the sides changes nothing, and each side's text is in the entry, in the fork, or was the base's.
  @Test func mergeIsSymmetricAndLosesNoText() {
    for seed in UInt64(0)..<3000 {
      var random = Seeded(seed)
      let base = Self.edited(Self.entry("one\n\ntwo\n\nthree"), &random)
      let mine = Self.edited(base, &random)
      let theirs = Self.edited(base, &random)
      for ancestor in [base, nil] {
        let merged = EntryMerge.merge(id: Self.id, base: ancestor, mine: mine, theirs: theirs)
        let other = EntryMerge.merge(id: Self.id, base: ancestor, mine: theirs, theirs: mine)
        #expect(merged == other, "seed \(seed)")
        let lines = Set((merged.entry.text + "\n" + (merged.fork?.entry.text ?? "")).split(separator: "\n"))
        let isDeleted = mine.edited.isDeletion(of: theirs.edited) || theirs.edited.isDeletion(of: mine.edited)
        for side in [mine, theirs] where !side.isDeleted && !isDeleted {
          let isKnown = ancestor.map { Set($0.text.split(separator: "\n")) } ?? []
          let added = Set(side.text.split(separator: "\n")).subtracting(isKnown)
          #expect(added.isSubset(of: lines), "seed \(seed)")
        }
      }
    }
  }

  private static func edited(_ entry: Entry, _ random: inout Seeded) -> Entry {
    var entry = entry
    let now = Moment(seconds: Int64.random(in: 20...24, using: &random))
    if entry.isDeleted { return entry }
    for _ in 0..<Int.random(in: 0...3, using: &random) {
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        var lines = entry.text.components(separatedBy: "\n")
        lines[Int.random(in: 0..<lines.count, using: &random)] = "w\(Int.random(in: 0..<50, using: &random))"
        (entry.text, entry.edited.text) = (lines.joined(separator: "\n"), now)
      case 1: (entry.isStarred, entry.edited.starred) = (Bool.random(using: &random), now)
      case 2: (entry.mood, entry.edited.mood) = (Int.random(in: 1...5, using: &random), now)
      case 3: entry.tags["t\(Int.random(in: 0..<3, using: &random))"] = now
      case 4: entry.tags["t\(Int.random(in: 0..<3, using: &random))"] = nil
      case 5:
        entry.written.moment = Moment(seconds: Int64.random(in: 1...3, using: &random))
        entry.edited.written = now
      default: if Int.random(in: 0..<4, using: &random) == 0 { return entry.deleted(at: now, device: "d") }
      }
    }
    return entry
  }
}
