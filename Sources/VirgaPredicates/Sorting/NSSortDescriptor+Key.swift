public import Foundation

/// What gives `NSSortDescriptor` the initialisers that Foundation lacks on Linux.
public protocol KeyedSortDescriptor {}

extension NSSortDescriptor: KeyedSortDescriptor {}

extension KeyedSortDescriptor where Self: NSSortDescriptor {
  /// Makes a descriptor that sorts records, dictionaries and objects by the value under a key.
  ///
  /// Texts are in the order of their bytes, as in queries. What has no value comes first, or last if descending.
  public init(key: String?, ascending: Bool) {
    self.init(taking: KeySortDescriptor(key ?? "self", ascending: ascending))
  }

  /// Makes a descriptor that sorts by what a function says of the values under a key, which no query can use.
  public init(key: String?, ascending: Bool, comparator cmptr: @escaping Comparator) {
    self.init(taking: ComparatorSortDescriptor(key ?? "self", ascending: ascending, comparator: cmptr))
  }

  private init(taking descriptor: NSSortDescriptor) {
    guard let made = descriptor as? Self else {
      preconditionFailure("A key makes an NSSortDescriptor, not a \(Self.self).")
    }
    self = made
  }
}

extension NSSortDescriptor {
  /// The name of the field that is sorted by; nil for a descriptor made with a Swift key path.
  public var key: String? {
    switch self {
    case let descriptor as any QuerySortDescriptor: descriptor.sortKey
    case let descriptor as ComparatorSortDescriptor: descriptor.sortKey
    default: nil
    }
  }
}
