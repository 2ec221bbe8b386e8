import VirgaModel

/// A change of a schema that holds users' data, judged by the one rule for production: it only grows.
///
/// New roles, types, fields and indexes are accepted, grants may change and indexes may go. What would leave saved data
/// without a place, or an installed app without a field that it saves, is refused.
/// Source: "Deploying an iCloud Container's Schema", the article on the text-based schema language.
package struct SchemaEvolution: Hashable, Sendable {
  package struct Refusal: Hashable, Sendable {
    package var change: SchemaChange
    package var reason: String
  }

  /// All changes, the refused ones too.
  package var changes: [SchemaChange]
  package var refusals: [Refusal]

  /// - Parameter name: What the old schema is called in the reasons: `production`.
  package init(from old: Schema, to new: Schema, name: String = "production") {
    changes = old.changes(to: new)
    refusals = []
    for change in changes {
      guard let reason = reason(against: change, name) else { continue }
      refusals.append(Refusal(change: change, reason: reason))
    }
  }

  package var isAllowed: Bool { refusals.isEmpty }

  private func reason(against change: SchemaChange, _ name: String) -> String? {
    switch change {
    case .roleRemoved(let role): "\(name) keeps role '\(role)', because users may have it"
    case .recordTypeRemoved(let type): "\(name) keeps record type '\(type)': a deployed type is never removed"
    case .fieldRemoved(let type, let field):
      "\(name) keeps field '\(field.name)' of type '\(type)': a deployed field is never removed"
        + (newName(of: field, in: type).map { " or renamed ('\($0)' would be another field)" } ?? "")
    case .fieldTypeChanged(let type, let field, let old, let new):
      old.isSettled(by: new)
        ? nil
        : "field '\(field)' of type '\(type)' is \(old.name) in \(name) and cannot become \(new.name): "
          + "the type of a deployed field never changes; add a field with another name"
    case .roleAdded, .recordTypeAdded, .fieldAdded, .indexesAdded, .indexesRemoved, .rightsGranted, .rightsRevoked: nil
    }
  }

  /// The one new field that has the removed one's type: its new name, as somebody may have meant.
  private func newName(of field: SchemaField, in type: RecordType) -> FieldName? {
    let added = changes.compactMap { change -> FieldName? in
      guard case .fieldAdded(type, let new) = change, new.type == field.type else { return nil }
      return new.name
    }
    return added.count == 1 ? added[0] : nil
  }
}
