import Synchronization
import VirgaModel
import VirgaWire

/// Where the plan lies that requests are held against. Without one a request costs a look at one word.
package final class FaultDesk: Sendable {
  private let isActive = Atomic(false)
  private let plan = Mutex<FaultPlan?>(nil)

  package init() {}

  /// Takes a plan in the place of the one before; its counts begin at 0.
  package func set(_ plan: FaultPlan) {
    self.plan.withLock { $0 = plan }
    isActive.store(!plan.rules.isEmpty, ordering: .releasing)
  }

  package func clear() {
    isActive.store(false, ordering: .releasing)
    plan.withLock { $0 = nil }
  }

  /// The plan with its counts.
  package var current: FaultPlan? { plan.withLock { $0 } }

  /// Whether requests need to be looked at. Only those of the development environment ever are.
  func watches(_ environment: Environment) -> Bool {
    environment == .development && isActive.load(ordering: .acquiring)
  }

  func meet(_ facts: FaultPlan.Facts) -> [FaultPlan.Rule] { plan.withLock { $0?.meet(facts) } ?? [] }

  /// What an operator is told: the whole plan, with the counts of its rules.
  func encoded() -> [UInt8] { (current ?? FaultPlan()).encoded() }
}
