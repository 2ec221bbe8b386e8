import VirgaModel

/// One merge under way.
struct Merge {
  let policy: MergePolicy
  let server: Record
  let mine: Record
  let ancestor: Fields
  let ancestorParent: Reference?
  let serverTime: Timestamp?
  let answered: Set<FieldName>
  /// False if the server has a write of this device of which nothing is known here but its number.
  let isAncestorComplete: Bool

  private(set) var merged: Fields
  private var outcome: MergeOutcome
  /// Fields whose value on my side goes into a fork, or into a question.
  private var forked: [FieldName] = []
  private var asked: [FieldName] = []

  init(
    policy: MergePolicy, versions: RecordVersions, serverTime: Timestamp?, answered: Set<FieldName>,
    isAncestorComplete: Bool
  ) {
    self.answered = answered
    self.isAncestorComplete = isAncestorComplete
    self.policy = policy
    server = versions.server
    mine = versions.mine
    ancestor = versions.ancestor?.fields ?? Fields()
    ancestorParent = versions.ancestor?.parent
    self.serverTime = serverTime
    merged = server.fields
    outcome = MergeOutcome(record: server)
  }

  mutating func run() -> MergeOutcome {
    let names = Set(ancestor.names).union(server.fields.names).union(mine.fields.names).sorted()
    if let whole = policy.wholeRecord {
      merge(Group(names: names.filter { $0 != policy.marks }, rule: whole.rule))
    } else {
      for group in groups(of: names) { merge(group) }
    }
    mergeParent()
    keepInvariants(names)
    mergeMarks()
    finish()
    return outcome
  }

  // MARK: Groups

  struct Group {
    var names: [FieldName]
    var rule: MergeRule
  }

  /// The policy's groups in its order, then all other fields by themselves. A date that decides about others and has no rule of its
  /// own ends as the later one.
  private func groups(of names: [FieldName]) -> [Group] {
    var groups: [Group] = []
    var ruled: Set<FieldName> = []
    var dates: [FieldName] = []
    for field in policy.fields {
      ruled.formUnion(field.names)
      if field.rule.isByField {
        groups += field.names.map { Group(names: [$0], rule: field.rule) }
      } else {
        groups.append(Group(names: field.names, rule: field.rule))
      }
      if case .newest(let date) = field.rule.kind { dates.append(date) }
    }
    for date in dates where ruled.insert(date).inserted {
      groups.append(Group(names: [date], rule: .newest(by: date.rawValue)))
    }
    let rest = names.filter { !ruled.contains($0) && $0 != policy.marks }
    return groups + rest.map { Group(names: [$0], rule: policy.defaultRule) }
  }

  private func isChanged(_ fields: Fields, _ name: FieldName) -> Bool {
    !areSame(fields[name]?.value, ancestor[name]?.value)
  }

  private mutating func merge(_ group: Group) {
    let isMineChanged = group.names.contains { isChanged(mine.fields, $0) }
    guard isMineChanged else { return }
    guard group.names.contains(where: { isChanged(server.fields, $0) }) else { return take(mine.fields, group.names) }
    // Two devices that added the same added twice; anything else that both changed alike is that.
    if case .counter = group.rule.kind { return decide(group.rule, group.names, group.names) }
    let differing = group.names.filter { !areSame(mine.fields[$0]?.value, server.fields[$0]?.value) }
    guard !differing.isEmpty else { return }
    if differing.contains(where: answered.contains) { return choose(.server, "answered first", group.names, differing) }
    decide(group.rule, group.names, differing)
  }

  /// Whether a field belongs to the encrypted ones, also where one side has removed it.
  private func isEncrypted(_ name: FieldName) -> Bool {
    [server.fields, mine.fields, ancestor].lazy.compactMap { $0[name]?.isEncrypted }.first ?? false
  }

  private mutating func take(_ fields: Fields, _ names: [FieldName]) {
    for name in names { merged[name] = fields[name] }
  }

  // MARK: Rules

  private mutating func decide(_ rule: MergeRule, _ names: [FieldName], _ differing: [FieldName]) {
    switch rule.kind {
    case .preferServer: choose(.server, rule.name, names, differing)
    case .preferMine: choose(.mine, rule.name, names, differing)
    case .newest(let date): choose(newer(by: date, names), rule.name, names, differing, date: date)
    case .fork:
      forked += differing
      note(rule.name, names, taken: .server, discarded: [])
    case .ask:
      asked += differing
      note(rule.name, names, taken: .server, discarded: [])
    default: for name in differing { mergeValue(of: name, by: rule) }
    }
  }

  private mutating func mergeValue(of name: FieldName, by rule: MergeRule) {
    let values = ConflictingValues(
      field: name, ancestor: ancestor[name]?.value, server: server.fields[name]?.value, mine: mine.fields[name]?.value)
    switch rule.kind {
    case .largest: choose(larger(values) == .server ? .server : .mine, rule.name, [name], [name])
    case .smallest: choose(larger(values) == .server ? .mine : .server, rule.name, [name], [name])
    // What this device added in the lost write is in both numbers: nobody can tell how much it was.
    case .counter: set(name, isAncestorComplete ? CounterMerge.merge(values) : .unfit, by: rule)
    case .set: set(name, ListMerge.set(values), by: rule)
    case .orderedList: set(name, ListMerge.ordered(values), by: rule)
    case .custom(_, let resolve): set(name, .merged(resolve(values)), by: rule)
    case .text(let other):
      if let text = TextMerge.merged(values) {
        set(name, .merged(.string(text)), by: rule)
      } else {
        decide(other, [name], [name])
      }
    default: preconditionFailure("\(rule.name) decides about groups")
    }
  }

  /// Values that the rule cannot merge, such as a counter's texts, go to the default rule.
  private mutating func set(_ name: FieldName, _ result: ValueMerge, by rule: MergeRule) {
    guard case .merged(let value) = result else { return decide(policy.defaultRule, [name], [name]) }
    merged[name] = value.map { VirgaModel.Field($0, isEncrypted: isEncrypted(name)) }
    note(rule.name, [name], taken: .merged, discarded: [])
  }

  private mutating func choose(
    _ side: MergeDecision.Taken, _ rule: String, _ names: [FieldName], _ differing: [FieldName], date: FieldName? = nil
  ) {
    let (winner, loser, other): (Fields, Fields, MergeDecision.Taken) =
      side == .mine ? (mine.fields, server.fields, .server) : (server.fields, mine.fields, .mine)
    take(winner, names)
    if let date, names.contains(date), let time = self.date(date, of: side), winner[date]?.value != .timestamp(time) {
      merged[date] = VirgaModel.Field(.timestamp(time), isEncrypted: winner[date]?.isEncrypted ?? false)
    }
    note(
      rule, names, taken: side,
      discarded: differing.map {
        .init(
          field: $0, side: other, value: loser[$0].map { StoredValue($0.value) }, kept: nil,
          isEncrypted: isEncrypted($0))
      })
  }

  private mutating func note(
    _ rule: String, _ names: [FieldName], taken: MergeDecision.Taken, discarded: [MergeDecision.Discarded]
  ) {
    outcome.decisions.append(MergeDecision(fields: names, rule: rule, taken: taken, discarded: discarded))
  }

  // MARK: Order of values

  private func newer(by date: FieldName, _ names: [FieldName]) -> MergeDecision.Taken {
    let (left, right) = (self.date(date, of: .server), self.date(date, of: .mine))
    if left != right { return (left ?? .distantPast) > (right ?? .distantPast) ? .server : .mine }
    var (ours, theirs) = (CanonicalBytes(), CanonicalBytes())
    for name in names {
      ours.append(mine.fields[name]?.value)
      theirs.append(server.fields[name]?.value)
    }
    return ours.bytes.lexicographicallyPrecedes(theirs.bytes) ? .server : .mine
  }

  /// A date is no later than the moment in which the server took it, or would take it now.
  private func date(_ name: FieldName, of side: MergeDecision.Taken) -> Timestamp? {
    let record = side == .mine ? mine : server
    let limit = side == .mine ? serverTime : server.modified?.time
    guard case .timestamp(let time)? = record.fields[name]?.value else { return nil }
    return limit.map { min(time, $0) } ?? time
  }

  private func larger(_ values: ConflictingValues) -> MergeDecision.Taken {
    guard let server = values.server else { return .mine }
    guard let mine = values.mine else { return .server }
    return server.precedes(mine) ? .mine : .server
  }

  // MARK: The rest of the record

  private mutating func mergeParent() {
    let name = MergeDecision.parent
    guard mine.parent != ancestorParent, mine.parent != server.parent else { return }
    if server.parent == ancestorParent {
      outcome.record.parent = mine.parent
    } else {
      let lost = MergeDecision.Discarded(
        field: name, side: .mine, value: mine.parent.map { StoredValue(.reference($0)) }, kept: nil, isEncrypted: false)
      note(MergeRule.preferServer.name, [name], taken: .server, discarded: [lost])
    }
  }

  private mutating func keepInvariants(_ names: [FieldName]) {
    for part in policy.invariants {
      let isMixture = !isSame(merged, server.fields, names) && !isSame(merged, mine.fields, names)
      let fields = MergedFields(fields: merged, encrypted: Set(names.filter(isEncrypted)))
      guard isMixture, !part.invariant.holds(fields) else { continue }
      let before = merged
      switch part.remedy {
      case .rule(let rule): restore(rule, names, part.invariant.name)
      case .repair(let name, let repair):
        var fields = fields
        repair(&fields)
        merged = fields.fields
        let changed = names.filter { !areSame(before[$0]?.value, merged[$0]?.value) }
        note(
          "\(part.invariant.name): \(name)", changed, taken: .merged,
          discarded: changed.map {
            .init(
              field: $0, side: .merged, value: before[$0].map { StoredValue($0.value) }, kept: nil,
              isEncrypted: isEncrypted($0))
          })
      }
    }
  }

  /// One side as a whole, in place of the mixture that broke an invariant.
  private mutating func restore(_ rule: MergeRule, _ names: [FieldName], _ invariant: String) {
    forked = []
    asked = []
    let differing = names.filter { $0 != policy.marks && !areSame(mine.fields[$0]?.value, server.fields[$0]?.value) }
    let whole = names.filter { $0 != policy.marks }
    take(server.fields, whole)
    switch rule.kind {
    case .fork: forked = differing
    case .ask: asked = differing
    case .preferMine: return choose(.mine, invariant, whole, differing)
    case .newest(let date): return choose(newer(by: date, whole), invariant, whole, differing, date: date)
    default: return choose(.server, invariant, whole, differing)
    }
    note(invariant, differing, taken: .server, discarded: [])
  }

  private func isSame(_ left: Fields, _ right: Fields, _ names: [FieldName]) -> Bool {
    names.allSatisfy { $0 == policy.marks || areSame(left[$0]?.value, right[$0]?.value) }
  }

  private mutating func mergeMarks() {
    guard let name = policy.marks else { return }
    let marks = WriteMarks(server.fields[name]?.value).merged(with: WriteMarks(mine.fields[name]?.value))
    if !marks.numbers.isEmpty { merged[name] = VirgaModel.Field(marks.value) }
  }

  private mutating func finish() {
    outcome.record.fields = merged
    let names = Set(merged.names).union(server.fields.names).sorted()
    // A mark alone is no news: it goes along with the next save that says something.
    outcome.isSaveNeeded = !isSame(merged, server.fields, names) || outcome.record.parent != server.parent
    if !outcome.isSaveNeeded { outcome.record = server }
    for index in outcome.decisions.indices {
      outcome.decisions[index].discarded = outcome.decisions[index].discarded.map { discarded in
        var discarded = discarded
        let isParent = discarded.field == MergeDecision.parent
        let kept = isParent ? outcome.record.parent.map(FieldValue.reference) : merged[discarded.field]?.value
        discarded.kept = kept.map { StoredValue($0) }
        return discarded
      }
    }
    if !asked.isEmpty {
      outcome.question = MergeQuestion(
        record: server.id.name, zone: server.id.zone, serverTag: server.tag,
        choices: asked.sorted().map {
          .init(
            field: $0, ancestor: ancestor[$0].map { StoredValue($0.value) },
            server: server.fields[$0].map { StoredValue($0.value) }, mine: mine.fields[$0].map { StoredValue($0.value) }
          )
        })
    }
    if !forked.isEmpty { outcome.forks = [fork()] }
  }

  /// A tilde and a digest. Names are measured in UTF-16 units.
  private static let forkSuffixLength = 33

  /// The merged record with my values where they could not be merged. Its name follows from the two versions, so that devices which meet
  /// the same two make one fork, and making it twice makes one.
  private func fork() -> Record {
    var bytes = CanonicalBytes()
    bytes.append(mine.tag?.rawValue ?? "")
    bytes.append(server.tag?.rawValue ?? "")
    for name in forked.sorted() {
      bytes.append(name.rawValue)
      bytes.append(mine.fields[name]?.value)
    }
    var start = server.id.name.rawValue
    let isLong = start.utf16.count + Self.forkSuffixLength > Limits.nameLengthMax
    if isLong { bytes.append(start) }
    while start.utf16.count + Self.forkSuffixLength > Limits.nameLengthMax { start.removeLast() }
    let name = RecordName("\(start)~\(bytes.digest)")
    var fork = Record(id: RecordID(name, in: server.id.zone), type: server.type, fields: merged)
    for name in forked { fork.fields[name] = mine.fields[name] }
    if let marks = policy.marks { fork.fields[marks] = nil }
    fork.parent = outcome.record.parent
    return fork
  }
}

/// What became of one field's three values.
enum ValueMerge {
  case merged(FieldValue?)
  /// The values are not of a kind that the rule can merge.
  case unfit
}

extension Timestamp {
  fileprivate static let distantPast = Timestamp(milliseconds: .min)
}
