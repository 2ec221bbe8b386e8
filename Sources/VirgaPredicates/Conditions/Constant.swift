import Foundation
package import VirgaModel

/// A value that a predicate compares with.
package enum Constant: Hashable {
  case null
  /// One value that a field can hold; never a list.
  case value(FieldValue)
  case list([Constant])
  /// An object that no field can hold. It can be told from others, and no more.
  case object(AnyHashable)
}

/// An object of another module that stands for a value in predicates.
package protocol PredicateOperand {
  var predicateValue: FieldValue { get }
}

extension Constant {
  /// Takes what an app passes for `%@`, and what it keeps under the keys of its own objects.
  package init(_ object: Any) {
    switch object {
    case let operand as any PredicateOperand: self = .value(operand.predicateValue)
    case is NSNull: self = .null
    case let optional as any AnyOptional: self = optional.wrapped.map { Constant($0) } ?? .null
    case let constant as Constant: self = constant
    case let text as String: self = .value(.string(text))
    case let text as Substring: self = .value(.string(String(text)))
    case let text as NSString: self = .value(.string(String(text)))
    case let number as NSNumber: self = Constant(number)
    case let date as Date: self = .value(.timestamp(Timestamp(date)))
    case let date as NSDate:
      self = .value(.timestamp(Timestamp(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate))))
    case let data as Data: self = .value(.bytes([UInt8](data)))
    case let data as NSData: self = .value(.bytes([UInt8](Data(referencing: data))))
    case let list as [Any]: self = .list(list.map { Constant($0) })
    case let list as NSArray: self = .list((0..<list.count).map { Constant(list.object(at: $0)) })
    case let list as NSOrderedSet: self = .list((0..<list.count).map { Constant(list.object(at: $0)) })
    case let set as NSSet: self = Constant(unordered: set.allObjects)
    case let set as Set<AnyHashable>: self = Constant(unordered: set.map(\.base))
    case let object as AnyHashable: self = .object(object)
    default: self = .object(AnyHashable(String(describing: object)))
    }
  }

  /// The members of a set, in the order of their texts: the order of the set's hashes differs in each process.
  private init(unordered members: [Any]) {
    self = .list(members.map { Constant($0) }.map { ($0, $0.text) }.sorted { $0.1 < $1.1 }.map(\.0))
  }

  /// Floating point stays that; all else is a whole number, truth among them.
  private init(_ number: NSNumber) {
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"), UInt8(ascii: "f"): self = .value(.double(number.doubleValue))
    case UInt8(ascii: "Q") where number.uint64Value > UInt64(Int64.max): self = .object(AnyHashable(number))
    default: self = .value(.int64(number.int64Value))
    }
  }

  /// Takes the value of a field.
  package init(field value: FieldValue) {
    self = value.listMembers.map { .list($0.map(Constant.value)) } ?? .value(value)
  }

  /// The value as a field would hold it; nil for what no field can hold.
  package var fieldValue: FieldValue? {
    switch self {
    case .null, .object: return nil
    case .value(let value): return value
    case .list(let members):
      let values = members.compactMap { if case .value(let value) = $0 { value } else { nil } }
      return values.count == members.count ? FieldValue(elements: values) : nil
    }
  }

  var isList: Bool { if case .list = self { true } else { false } }
}

/// An optional of any kind, so that `nil` inside `Any` can be told.
private protocol AnyOptional {
  var wrapped: Any? { get }
}

extension Optional: AnyOptional {
  fileprivate var wrapped: Any? { self }
}

extension Timestamp {
  /// The nearest millisecond; moments beyond what the service can keep become the furthest that it can.
  init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded()
    self.init(milliseconds: Int64(max(-9e18, min(9e18, milliseconds.isNaN ? 0 : milliseconds))))
  }

  /// Seconds since 2001, as Foundation prints dates.
  var secondsSinceReferenceDate: Double { Double(milliseconds) / 1_000 - Date.timeIntervalBetween1970AndReferenceDate }
}
