public import Foundation

// On Apple's systems every object is a variadic argument, and values are bridged to objects. Linux knows only texts and
// numbers as such; without these `NSPredicate(format: "date > %@", date as NSDate)` would not compile.

extension NSObject: @retroactive CVarArg {
  /// The address, as C would be given it; whoever passes the object keeps it alive.
  public var _cVarArgEncoding: [Int] { [Int(bitPattern: Unmanaged.passUnretained(self).toOpaque())] }
}

/// A value that a variadic C function cannot take but as an object.
private func encoding(_ object: NSObject) -> [Int] {
  // Nothing says when the callee is done, so the object is never released. Predicates do not come here.
  [Int(bitPattern: Unmanaged.passRetained(object).toOpaque())]
}

extension Date: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { encoding(self as NSDate) }
}

extension Data: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { encoding(self as NSData) }
}

extension Array: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { encoding(NSArray(array: self)) }
}

extension Set: @retroactive CVarArg {
  public var _cVarArgEncoding: [Int] { encoding(NSSet(set: self)) }
}
