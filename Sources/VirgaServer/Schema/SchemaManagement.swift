package import VirgaModel
package import VirgaSchema

/// What may be done with a container's schemas. Development takes what it is given, production only grows.
extension Service {
  /// The schema of an environment, completed, as an export shows it.
  package func schema(
    of container: ContainerID, in environment: Environment, transaction: any ReadTransaction
  ) throws -> Schema {
    try transaction.schema(of: container, in: environment)
  }

  /// Whether a container has anything: a database or a schema of its own. Of one that has nothing, the name may be wrong.
  package func hasAnything(of container: ContainerID, transaction: any ReadTransaction) throws -> Bool {
    let empty = Schema(roles: [], recordTypes: []).completed()
    for environment in Environment.allCases
    where try transaction.schema(of: container, in: environment) != empty {
      return true
    }
    return try transaction.databases().contains { $0.key.container == container }
  }

  /// What importing `schema` would do: its changes to development's schema, and what production refuses of it.
  package func checkImport(
    of schema: Schema, into container: ContainerID, transaction: any ReadTransaction
  ) throws -> SchemaReport {
    let development = try transaction.schema(of: container, in: .development)
    let production = try transaction.schema(of: container, in: .production)
    let schema = schema.keepingShares(of: development)
    return SchemaReport(
      changes: development.changes(to: schema), refusals: SchemaEvolution(from: production, to: schema).refusals)
  }

  /// Makes `schema` development's, unless production has something that it lacks or has otherwise. What development
  /// had more is removed together with its data.
  /// - Precondition: `schema` has no problems.
  package func importSchema(
    _ schema: Schema, into container: ContainerID, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> SchemaReport {
    var report = try checkImport(of: schema, into: container, transaction: transaction)
    guard report.refusals.isEmpty else { return report }
    let development = try transaction.schema(of: container, in: .development)
    let schema = schema.keepingShares(of: development)
    let loss = SchemaLoss(development.changes(to: schema))
    report.recordsChanged = try transaction.remove(loss, from: container, context: &context)
    try transaction.put(schema.completed(), of: container, in: .development)
    report.isApplied = true
    return report
  }

  /// How development's schema differs from production's, and what of that a deploy would refuse.
  package func schemaDifference(
    of container: ContainerID, transaction: any ReadTransaction
  ) throws -> SchemaReport {
    let evolution = SchemaEvolution(
      from: try transaction.schema(of: container, in: .production),
      to: try transaction.schema(of: container, in: .development))
    return SchemaReport(changes: evolution.changes, refusals: evolution.refusals)
  }

  /// Makes production's schema like development's if that only adds; otherwise production stays as it is. Data are
  /// never touched.
  package func deploySchema(
    of container: ContainerID, in transaction: any WriteTransaction
  ) throws -> SchemaReport {
    var report = try schemaDifference(of: container, transaction: transaction)
    guard report.refusals.isEmpty else { return report }
    if !report.changes.isEmpty {
      let development = try transaction.schema(of: container, in: .development)
      try transaction.put(development, of: container, in: .production)
    }
    report.isApplied = true
    return report
  }

  /// Makes development's schema a copy of production's and deletes all of development's records and zones.
  package func resetSchema(
    of container: ContainerID, in transaction: any WriteTransaction, context: inout CallContext
  ) throws -> SchemaReport {
    let production = try transaction.schema(of: container, in: .production)
    let changes = try transaction.schema(of: container, in: .development).changes(to: production)
    var report = SchemaReport(changes: changes, refusals: [])
    report.recordsChanged = try transaction.removeAllData(of: container, in: .development, context: &context)
    try transaction.put(production, of: container, in: .development)
    report.isApplied = true
    return report
  }
}

extension Schema {
  /// The schema with the type of shares that another one has: shares were made there, whether a file says so or not.
  fileprivate func keepingShares(of other: Schema) -> Schema {
    guard self[.share] == nil, let shares = other[.share] else { return self }
    var copy = self
    copy.recordTypes.append(shares)
    return copy
  }
}
