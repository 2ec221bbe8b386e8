import Synchronization

final class Counter: Sendable {
  private let count = Mutex(0)
  /// Counts from 0.
  func next() -> Int {
    count.withLock { count in
      defer { count += 1 }
      return count
    }
  }
  var value: Int { count.withLock { $0 } }
}

final class Flag: Sendable {
  private let flag: Mutex<Bool>
  init(_ value: Bool) { flag = Mutex(value) }
  var value: Bool {
    get { flag.withLock { $0 } }
    set { flag.withLock { $0 = newValue } }
  }
}

final class Holder<Value: Sendable>: Sendable {
  private let held = Mutex<Value?>(nil)
  var value: Value? {
    get { held.withLock { $0 } }
    set { held.withLock { $0 = newValue } }
  }
}
