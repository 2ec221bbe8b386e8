/// How two values of one type lie to each other.
public enum ValueOrder: Hashable, Sendable { case ascending, same, descending }
