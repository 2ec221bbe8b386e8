import VirgaModel

extension Schema {
  /// The steps from this schema to another: roles first, then record types by name, each with its fields by name and
  /// its grants. What a schema leaves unsaid counts as said; order counts for nothing.
  package func changes(to other: Schema) -> [SchemaChange] {
    let (old, new) = (completed(), other.completed())
    var changes = Set(old.roles).subtracting(new.roles).sorted().map { SchemaChange.roleRemoved($0) }
    changes += Set(new.roles).subtracting(old.roles).sorted().map { .roleAdded($0) }
    merging(old.recordTypes, new.recordTypes, by: \.name) { before, after in
      switch (before, after) {
      case (let before?, let after?): changes += before.changes(to: after)
      case (let before?, nil): changes.append(.recordTypeRemoved(before.name))
      case (nil, let after?): changes.append(.recordTypeAdded(after))
      case (nil, nil): break
      }
    }
    return changes
  }
}

extension SchemaRecordType {
  /// The steps to another definition of the type; both are completed.
  fileprivate func changes(to other: SchemaRecordType) -> [SchemaChange] {
    var changes: [SchemaChange] = []
    merging(fields, other.fields, by: \.name) { before, after in
      switch (before, after) {
      case (let before?, nil): changes.append(.fieldRemoved(name, before))
      case (nil, let after?): changes.append(.fieldAdded(name, after))
      case (let before?, let after?):
        if before.type != after.type {
          changes.append(.fieldTypeChanged(name, before.name, from: before.type, to: after.type))
        }
        let removed = before.indexes.subtracting(after.indexes)
        if !removed.isEmpty { changes.append(.indexesRemoved(name, before.name, removed)) }
        let added = after.indexes.subtracting(before.indexes)
        if !added.isEmpty { changes.append(.indexesAdded(name, before.name, added)) }
      case (nil, nil): break
      }
    }
    for role in Set((grants + other.grants).map(\.role)).sorted() {
      let (before, after) = (rights(of: role), other.rights(of: role))
      let revoked = before.subtracting(after)
      if !revoked.isEmpty { changes.append(.rightsRevoked(name, SchemaGrant(revoked, to: role))) }
      let granted = after.subtracting(before)
      if !granted.isEmpty { changes.append(.rightsGranted(name, SchemaGrant(granted, to: role))) }
    }
    return changes
  }
}

/// Walks two lists that are sorted by a name, and gives what has the same name together.
private func merging<Element, Name: Comparable>(
  _ left: [Element], _ right: [Element], by name: (Element) -> Name, _ body: (Element?, Element?) -> Void
) {
  var (left, right) = (left[...], right[...])
  while true {
    switch (left.first, right.first) {
    case (nil, nil): return
    case (let one?, nil):
      body(one, nil)
      left.removeFirst()
    case (nil, let other?):
      body(nil, other)
      right.removeFirst()
    case (let one?, let other?):
      if name(one) < name(other) {
        body(one, nil)
        left.removeFirst()
      } else if name(other) < name(one) {
        body(nil, other)
        right.removeFirst()
      } else {
        body(one, other)
        left.removeFirst()
        right.removeFirst()
      }
    }
  }
}
