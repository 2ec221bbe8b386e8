import VirgaModel

/// What becomes of a record that two devices changed: the rules, field by field.
///
/// ```swift
/// let policy = try MergePolicy(default: .preferServer, marks: "writes") {
///   Field("value", "recordedAt", "source").newest(by: "recordedAt")
///   Field("visits").counter()
///   Field("tags").set()
///   Field("text").text(orElse: .fork)
///   Field("price").ask()
///   Invariant("done and postponed") { !($0["done"] == true && $0["postponedTo"] != nil) }.resolve(.preferServer)
/// }
/// ```
/// A field that only one side changed is taken from that side. A field that both changed alike is that. The rules are for the rest,
/// and `default` is for fields that no rule names: it has to be written down.
public struct MergePolicy: Sendable {
  /// One line of a policy.
  public struct Part: Sendable {
    enum Kind: Sendable {
      case field(FieldPolicy)
      case wholeRecord(WholeRecordPolicy)
      case invariant(InvariantPolicy)
    }
    let kind: Kind
  }

  let defaultRule: MergeRule
  /// The field of records in which devices mark their writes.
  let marks: FieldName?
  let fields: [FieldPolicy]
  let wholeRecord: WholeRecordPolicy?
  let invariants: [InvariantPolicy]

  /// - Parameter rule: For fields that both sides changed and that no line names, and for values that are not of a kind that their
  ///   rule merges. It has to fit every value, so it cannot be a counter, a set or an ordered list.
  /// - Parameter marks: A field of the records, a list of texts, in which each device notes the number of its last write. A device whose
  ///   save was accepted while the answer got lost knows its own write by it, and does not count it twice. A policy with a counter
  ///   needs it.
  /// - Throws: `MergePolicyError` where the lines contradict each other.
  public init(
    default rule: MergeRule, marks: String? = nil, @MergePolicyBuilder _ parts: () -> [Part] = { [] }
  ) throws(MergePolicyError) {
    var fields: [FieldPolicy] = []
    var wholeRecord: WholeRecordPolicy?
    var invariants: [InvariantPolicy] = []
    for part in parts() {
      switch part.kind {
      case .field(let field): fields.append(field)
      case .wholeRecord(let whole):
        if wholeRecord != nil { throw .wholeRecordTwice }
        wholeRecord = whole
      case .invariant(let invariant): invariants.append(invariant)
      }
    }
    try Self.check(fields, rule, marks: marks.map { FieldName($0) }, isWhole: wholeRecord != nil)
    defaultRule = rule
    self.marks = marks.map { FieldName($0) }
    self.fields = fields
    self.wholeRecord = wholeRecord
    self.invariants = invariants
  }

  /// The dates by which rules decide, in order.
  var dates: [FieldName] {
    let remedies = invariants.compactMap { part -> MergeRule? in
      if case .rule(let rule) = part.remedy { rule } else { nil }
    }
    let rules = fields.map(\.rule) + [wholeRecord?.rule, defaultRule].compactMap(\.self) + remedies
    return Set(rules.compactMap(\.date)).sorted()
  }

  private static func check(
    _ fields: [FieldPolicy], _ defaultRule: MergeRule, marks: FieldName?, isWhole: Bool
  ) throws(MergePolicyError) {
    if isWhole, let name = fields.first?.names.first { throw .fieldBesideWholeRecord(name.rawValue) }
    var seen: Set<FieldName> = []
    for field in fields {
      if field.names.isEmpty { throw .fieldWithoutName }
      for name in field.names {
        if !seen.insert(name).inserted { throw .fieldTwice(name.rawValue) }
        if name == marks { throw .ruleForMarks(name.rawValue) }
        if case .counter = field.rule.kind, marks == nil { throw .counterWithoutMarks(name.rawValue) }
      }
    }
    if !defaultRule.fitsEveryValue { throw .defaultThatMayNotFit(defaultRule.name) }
  }
}

/// What is wrong with a policy.
public enum MergePolicyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A rule for fields names none.
  case fieldWithoutName
  /// Two rules name this field.
  case fieldTwice(String)
  /// A rule for this field stands beside one for the whole record.
  case fieldBesideWholeRecord(String)
  /// Two rules are for the whole record.
  case wholeRecordTwice
  /// A rule is for this field, which keeps the marks of the policy.
  case ruleForMarks(String)
  /// The counter in this field needs the policy's `marks:`.
  case counterWithoutMarks(String)
  /// The rule for all other fields may not fit this one.
  case defaultThatMayNotFit(String)

  public var description: String {
    switch self {
    case .fieldWithoutName: "a rule of the merge policy names no field"
    case .fieldTwice(let name): "the merge policy has two rules for the field \(name); keep one"
    case .fieldBesideWholeRecord(let name):
      "the merge policy has a rule for the whole record, so the rule for \(name) would never apply; remove one of them"
    case .wholeRecordTwice: "the merge policy has two rules for the whole record; keep one"
    case .ruleForMarks(let name):
      "\(name) holds the marks of devices' writes, which are merged automatically; remove its rule"
    case .counterWithoutMarks(let name):
      "\(name) cannot be a counter in a record without marks: if the answer to a save is lost, it would count twice. "
        + "Give the policy a field for marks (marks:), or keep one record per device (CounterRows)"
    case .defaultThatMayNotFit(let rule):
      "\(rule) merges only one kind of value, so it cannot be the default; name its fields, and use one side, the "
        + "newest, "
        + "the largest, a fork or a question as the default"
    }
  }
}

/// Collects the lines of a policy.
@resultBuilder public enum MergePolicyBuilder {
  public static func buildExpression(_ field: FieldPolicy) -> [MergePolicy.Part] { [.init(kind: .field(field))] }
  public static func buildExpression(_ whole: WholeRecordPolicy) -> [MergePolicy.Part] {
    [.init(kind: .wholeRecord(whole))]
  }
  public static func buildExpression(_ invariant: InvariantPolicy) -> [MergePolicy.Part] {
    [.init(kind: .invariant(invariant))]
  }
  public static func buildBlock(_ parts: [MergePolicy.Part]...) -> [MergePolicy.Part] { parts.flatMap { $0 } }
  public static func buildOptional(_ parts: [MergePolicy.Part]?) -> [MergePolicy.Part] { parts ?? [] }
  public static func buildEither(first parts: [MergePolicy.Part]) -> [MergePolicy.Part] { parts }
  public static func buildEither(second parts: [MergePolicy.Part]) -> [MergePolicy.Part] { parts }
  public static func buildArray(_ parts: [[MergePolicy.Part]]) -> [MergePolicy.Part] { parts.flatMap { $0 } }
}

/// Policies by record type.
public struct MergePolicies: Sendable {
  let byType: [RecordType: MergePolicy]
  let others: MergePolicy

  /// - Parameter others: For types that are not named.
  public init(_ byType: [String: MergePolicy] = [:], default others: MergePolicy) {
    self.byType = Dictionary(uniqueKeysWithValues: byType.map { (RecordType($0.key), $0.value) })
    self.others = others
  }

  subscript(type: RecordType) -> MergePolicy { byType[type] ?? others }
}
