package import VirgaModel

extension Service {
  /// Adds to a container's production schema what its development schema has more. Nothing is removed or changed; a
  /// field that has different types in both stays as it is in production, and is answered.
  /// - Returns: What could not be deployed, as `Type.field`, in order.
  package func deploySchema(of container: ContainerID, in transaction: any WriteTransaction) throws -> [String] {
    var differing: [String] = []
    for source in try transaction.schemas(container: container, environment: .development) {
      let known = try transaction.schema(of: source.name, container: container, environment: .production)
      var target = known ?? RecordTypeSchema(source.name, in: .production)
      for field in source.fields {
        switch target[field.name] {
        case nil: target.add(field.name, field.type)
        case field.type: break
        case .some: differing.append("\(source.name).\(field.name)")
        }
      }
      if target.isChanged { try transaction.put(target, container: container) }
    }
    return differing
  }
}
