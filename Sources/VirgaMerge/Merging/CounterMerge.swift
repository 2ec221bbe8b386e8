import VirgaModel

/// Server + (mine − ancestor), where a missing value is 0.
enum CounterMerge {
  static func merge(_ values: ConflictingValues) -> ValueMerge {
    let zero = FieldValue.int64(0)
    switch (values.ancestor ?? zero, values.server ?? zero, values.mine ?? zero) {
    case (.int64(let ancestor), .int64(let server), .int64(let mine)):
      let (added, isTooMuch) = mine.subtractingReportingOverflow(ancestor)
      let (sum, isBeyond) = server.addingReportingOverflow(added)
      return isTooMuch || isBeyond ? .unfit : .merged(.int64(sum))
    case (let ancestor, let server, let mine):
      guard let ancestor = ancestor.number, let server = server.number, let mine = mine.number else { return .unfit }
      return .merged(.double(server + (mine - ancestor)))
    }
  }
}

extension FieldValue {
  fileprivate var number: Double? {
    switch self {
    case .int64(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
