import Foundation
package import VirgaModel
import VirgaPredicates

// What predicates and sort descriptors may look at and compare with. A reference is written with its zone: a predicate
// does not know in which zone it will be asked.

extension CKRecord: PredicateRecord, PredicateOperand {
  package var querySubject: QuerySubject { QuerySubject(state.withLock { $0.record }) }
  package var predicateValue: FieldValue { recordID.predicateValue }

  package func predicateObject(forKey key: String) -> Any? {
    Self.systemKeys.contains(key) ? systemObject(forKey: key) : object(forKey: key)
  }
}

extension CKRecordID: PredicateOperand {
  package var predicateValue: FieldValue { .reference(Reference(recordName: model.name, zone: model.zone)) }
}

extension CKRecordReference: PredicateOperand {
  package var predicateValue: FieldValue { recordID.predicateValue }
}

extension CLLocation: PredicateOperand {
  package var predicateValue: FieldValue { .location(model) }
}
