/// What Lanternly adds to an entry in the JSON that it exports: what Day One has no key for, and that text and names stand there as
/// they are.
struct LanternlyMark {
  static let key = "lanternly"

  var mood: Int?
  var written: Moment?
  var modified: Moment?

  /// `nil` for an entry of another program.
  init?(_ object: LooseObject) {
    guard let mark = object.object(Self.key), mark.string("id") != nil else { return nil }
    mood = mark.int("mood")
    written = mark.int("written").map { Moment(milliseconds: Int64($0)) }
    modified = mark.int("modified").map { Moment(milliseconds: Int64($0)) }
  }
}
