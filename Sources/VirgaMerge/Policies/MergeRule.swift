public import VirgaModel

/// How a field, or fields that belong together, are merged when both sides changed them.
///
/// | rule | result | does it name a side? |
/// |---|---|---|
/// | `preferServer`, `preferMine` | that side's value | yes: it depends on who arrives first |
/// | `newest(by:)` | the side whose date is later | no |
/// | `largest`, `smallest` | the larger or smaller value | no |
/// | `counter` | server + (mine − ancestor) | no |
/// | `set` | union of additions, minus what either side removed | no |
/// | `orderedList` | both sides' insertions and removals, in place | no; of insertions at one place the order may depend on arrival |
/// | `text(orElse:)` | both sides' lines and words; where they touch, the other rule | as the other rule |
/// | `fork` | the server's value, and mine in a record of its own | yes; nothing is discarded |
/// | `ask` | the server's value until somebody answers | yes; nothing is discarded |
/// | `custom` | what the closure returns | as the closure |
///
/// A rule that names no side gives every device the same value, whatever the order in which their saves arrive; `newest(by:)` as long
/// as no device's clock is ahead.
public struct MergeRule: Sendable {
  typealias Resolver = @Sendable (ConflictingValues) -> FieldValue?

  indirect enum Kind: Sendable {
    case preferServer
    case preferMine
    case newest(by: FieldName)
    case largest
    case smallest
    case counter
    case set
    case orderedList
    case text(orElse: MergeRule)
    case fork
    case ask
    case custom(name: String, Resolver)
  }

  let kind: Kind

  /// The server's value: that of whoever saved first.
  public static let preferServer = MergeRule(kind: .preferServer)
  /// This device's value: that of whoever saves last.
  public static let preferMine = MergeRule(kind: .preferMine)

  /// The side whose date in that field is later. A date after the moment at which the server took the version counts as that moment,
  /// and is stored as it, so that a clock that runs fast does not win for ever; it still wins against what came between its date and its
  /// save. A side without a date is the older one; of equal
  /// dates the value with the greater bytes wins, on every device.
  public static func newest(by field: String) -> MergeRule { MergeRule(kind: .newest(by: FieldName(field))) }

  /// By number, date, or the bytes of a text. A missing value is smaller than any other.
  public static let largest = MergeRule(kind: .largest)
  /// By number, date, or the bytes of a text. A missing value is smaller than any other.
  public static let smallest = MergeRule(kind: .smallest)

  /// The server's number and what was added here. Needs `marks:` of the policy; see `MergePolicy`.
  public static let counter = MergeRule(kind: .counter)

  /// A list without an order. It is stored in the order of its values, so that all devices store the same.
  public static let set = MergeRule(kind: .set)

  /// A list whose order counts. Both sides' insertions and removals are kept, in place.
  public static let orderedList = MergeRule(kind: .orderedList)

  /// Three-way by lines, and by words within lines that both sides changed.
  public static func text(orElse rule: MergeRule) -> MergeRule { MergeRule(kind: .text(orElse: rule)) }

  /// Both versions stay: the server's in the record, mine in a new one.
  public static let fork = MergeRule(kind: .fork)

  /// The server's version stays until somebody answers.
  public static let ask = MergeRule(kind: .ask)

  /// - Parameter resolve: Gets one field's three values and returns the merged one, `nil` for none. The same values must give the
  ///   same result on every device.
  public static func custom(
    _ name: String, _ resolve: @escaping @Sendable (ConflictingValues) -> FieldValue?
  ) -> MergeRule {
    MergeRule(kind: .custom(name: name, resolve))
  }

  /// As the journal names it.
  var name: String {
    switch kind {
    case .preferServer: "preferServer"
    case .preferMine: "preferMine"
    case .newest(let field): "newest(by: \(field))"
    case .largest: "largest"
    case .smallest: "smallest"
    case .counter: "counter"
    case .set: "set"
    case .orderedList: "orderedList"
    case .text: "text"
    case .fork: "fork"
    case .ask: "ask"
    case .custom(let name, _): name
    }
  }

  /// The field whose date decides, if one does.
  var date: FieldName? {
    switch kind {
    case .newest(let field): field
    case .text(let other): other.date
    default: nil
    }
  }

  /// Whether the rule decides whatever the values are.
  var fitsEveryValue: Bool {
    switch kind {
    case .counter, .set, .orderedList: false
    case .text(let other): other.fitsEveryValue
    default: true
    }
  }

  /// Whether the rule looks at each field by itself. All others choose one side for the whole group.
  var isByField: Bool {
    switch kind {
    case .counter, .set, .orderedList, .text, .largest, .smallest, .custom: true
    case .preferServer, .preferMine, .newest, .fork, .ask: false
    }
  }
}

/// The three values of one field that both sides changed; `nil` where a version does not have the field.
public struct ConflictingValues: Sendable {
  /// The field in which both sides differ.
  public var field: FieldName
  /// What it was before both changes; `nil` if it was not there, or is not known.
  public var ancestor: FieldValue?
  /// What the server has; `nil` if the field was removed there.
  public var server: FieldValue?
  /// What this device has; `nil` if the field was removed here.
  public var mine: FieldValue?
}
