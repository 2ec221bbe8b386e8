public import VirgaModel

/// A field, or fields that belong together, and the rule that merges them.
///
/// Fields that belong together move together: if either side changed one of them, that side's values count for all, and if both did,
/// the rule chooses one side for all. `counter`, `set`, `orderedList`, `text`, `largest`, `smallest` and `custom` look at each field by
/// itself instead.
public struct Field: Sendable {
  let names: [FieldName]

  /// Names one field, or several that belong together.
  public init(_ names: String...) { self.names = names.map { FieldName($0) } }

  /// Merges them by that rule.
  public func merged(by rule: MergeRule) -> FieldPolicy { FieldPolicy(names: names, rule: rule) }

  /// Takes the server's side.
  public func preferServer() -> FieldPolicy { merged(by: .preferServer) }
  /// Takes this device's side.
  public func preferMine() -> FieldPolicy { merged(by: .preferMine) }
  /// Takes the side whose date in that field is later; see `MergeRule.newest(by:)`.
  public func newest(by field: String) -> FieldPolicy { merged(by: .newest(by: field)) }
  /// Takes the larger value of each field.
  public func largest() -> FieldPolicy { merged(by: .largest) }
  /// Takes the smaller value of each field.
  public func smallest() -> FieldPolicy { merged(by: .smallest) }
  /// Adds up what both sides added; see `MergeRule.counter`.
  public func counter() -> FieldPolicy { merged(by: .counter) }
  /// Takes what either side added, without what either removed.
  public func set() -> FieldPolicy { merged(by: .set) }
  /// Takes both sides' insertions and removals, in place.
  public func orderedList() -> FieldPolicy { merged(by: .orderedList) }
  /// Takes both sides' lines and words; where they touch, the other rule decides.
  public func text(orElse rule: MergeRule) -> FieldPolicy { merged(by: .text(orElse: rule)) }
  /// Takes the server's side, and keeps this device's in a record of its own.
  public func fork() -> FieldPolicy { merged(by: .fork) }
  /// Takes the server's side until somebody answers.
  public func ask() -> FieldPolicy { merged(by: .ask) }
  /// Takes what a closure makes of the three values of each field. The name stands in journals.
  public func custom(
    _ name: String, _ resolve: @escaping @Sendable (ConflictingValues) -> FieldValue?
  ) -> FieldPolicy {
    merged(by: .custom(name, resolve))
  }
}

/// The record as a whole: if both sides changed anything at all, the rule chooses one side for every field.
public struct WholeRecord: Sendable {
  /// Stands for every field of the record.
  public init() {}

  /// Takes the server's side.
  public func preferServer() -> WholeRecordPolicy { WholeRecordPolicy(rule: .preferServer) }
  /// Takes this device's side.
  public func preferMine() -> WholeRecordPolicy { WholeRecordPolicy(rule: .preferMine) }
  /// Takes the side whose date in that field is later; see `MergeRule.newest(by:)`.
  public func newest(by field: String) -> WholeRecordPolicy { WholeRecordPolicy(rule: .newest(by: field)) }
  /// Takes the server's side, and keeps this device's in a record of its own.
  public func fork() -> WholeRecordPolicy { WholeRecordPolicy(rule: .fork) }
  /// Takes the server's side until somebody answers.
  public func ask() -> WholeRecordPolicy { WholeRecordPolicy(rule: .ask) }
}

/// A field with its rule, as `Field("title").preferServer()` makes it.
public struct FieldPolicy: Sendable {
  let names: [FieldName]
  let rule: MergeRule
}

/// As `WholeRecord().newest(by: "editedAt")` makes it.
public struct WholeRecordPolicy: Sendable {
  let rule: MergeRule
}

/// A sentence that must hold for a merged record.
///
/// It is asked only of records that mix both sides: what one device saved by itself is not a merge's business.
public struct Invariant: Sendable {
  let name: String
  let holds: @Sendable (MergedFields) -> Bool

  /// Makes a sentence that a merged record must fulfil. The name stands in journals.
  public init(_ name: String, holds: @escaping @Sendable (MergedFields) -> Bool) {
    self.name = name
    self.holds = holds
  }

  /// What counts instead where the merged record breaks the sentence: one side as a whole, a fork, or a question.
  public func resolve(_ rule: WholeRecordRule) -> InvariantPolicy {
    InvariantPolicy(invariant: self, remedy: .rule(rule.rule))
  }

  /// Mends the merged record. What the closure overwrites goes to the journal.
  public func repair(_ name: String, _ repair: @escaping @Sendable (inout MergedFields) -> Void) -> InvariantPolicy {
    InvariantPolicy(invariant: self, remedy: .repair(name: name, repair))
  }
}

/// A rule that can decide about a record as a whole.
public struct WholeRecordRule: Sendable {
  let rule: MergeRule

  /// Takes the server's side.
  public static let preferServer = WholeRecordRule(rule: .preferServer)
  /// Takes this device's side.
  public static let preferMine = WholeRecordRule(rule: .preferMine)
  /// Takes the server's side, and keeps this device's in a record of its own.
  public static let fork = WholeRecordRule(rule: .fork)
  /// Takes the server's side until somebody answers.
  public static let ask = WholeRecordRule(rule: .ask)
  /// Takes the side whose date in that field is later; see `MergeRule.newest(by:)`.
  public static func newest(by field: String) -> WholeRecordRule { WholeRecordRule(rule: .newest(by: field)) }
}

/// An invariant and what to do where it is broken.
public struct InvariantPolicy: Sendable {
  enum Remedy: Sendable {
    case rule(MergeRule)
    case repair(name: String, @Sendable (inout MergedFields) -> Void)
  }

  let invariant: Invariant
  let remedy: Remedy
}

/// The values of a record by name, for invariants: `$0["done"] == true && $0["postponedTo"] != nil`.
public struct MergedFields: Sendable {
  var fields: Fields
  /// The fields that are encrypted in one of the versions.
  let encrypted: Set<FieldName>

  /// Setting a value keeps whether the field is encrypted.
  public subscript(name: String) -> FieldValue? {
    get { fields[FieldName(name)]?.value }
    set {
      let name = FieldName(name)
      fields[name] = newValue.map { VirgaModel.Field($0, isEncrypted: encrypted.contains(name)) }
    }
  }
}
