import FoundationEssentials
package import VirgaAuth
package import VirgaModel

/// Who takes part in the shares of a zone, as the devices of its owner keep it for each other: the next secret of the zone
/// is for these, and not for whom a server names.
///
/// It lies in the zone's list as texts `roster/NUMBER` under the account's key, each of them one thing that a device of the
/// owner did. They count from 1 without a gap.
package struct ZoneRoster: Hashable, Sendable {
  /// Who takes part in one share, for as long as it is there.
  package struct Share: Hashable, Sendable {
    /// Nil for the whole zone.
    package var root: RecordName?
    /// Whether everybody may join who has its address.
    package var isOpen: Bool
    /// Those whom an app of the owner's invited.
    package var users: Set<UserName>

    package init(root: RecordName?, isOpen: Bool, users: Set<UserName>) {
      self.root = root
      self.isOpen = isOpen
      self.users = users
    }
  }

  /// One thing that a device of the owner did.
  private struct Entry: Codable {
    var name: RecordName
    var root: RecordName?
    var isOpen: Bool?
    /// In order; nil where the share ended.
    var users: [UserName]?
    /// A new secret of the zone begins.
    var round: String?
  }

  package private(set) var shares: [RecordName: Share] = [:]
  /// What the zone's secrets were made with besides the account's key, oldest first.
  package private(set) var rounds: [String] = []
  /// Whether somebody has the zone's secret who is in no share any more.
  private(set) var isSpent = false
  /// What was read, in order.
  private(set) var texts: [String] = []

  private static let prefix = "roster/"

  package init() {}

  /// - Parameter items: The zone's list.
  /// - Parameter known: What the device has read before. A server that says less, or something else, is not believed.
  package init(_ items: [KeyMessages.Item], of place: ZonePlace, keys: [AccountKey], known: ZoneRoster = ZoneRoster()) {
    let found = Dictionary(
      items.filter { $0.name.hasPrefix(Self.prefix) }.map { ($0.name, $0.value) },
      uniquingKeysWith: { first, _ in first })
    // A zone that was deleted and made again by another device begins anew, which only a device with the key can say.
    let first = found[Self.name(1)]
    let isAnother = first.map { $0 != known.texts.first && Self.open($0, number: 1, of: place, keys: keys) != nil }
    self = isAnother == true ? ZoneRoster() : known
    while let text = found[Self.name(texts.count + 1)],
      let entry = Self.open(text, number: texts.count + 1, of: place, keys: keys)
    {
      apply(entry)
      texts.append(text)
    }
  }

  /// - Parameter texts: In order, as the device has kept them.
  init(texts: [String], of place: ZonePlace, keys: [AccountKey]) {
    self.init(
      texts.enumerated().map { KeyMessages.Item(Self.name($0 + 1), $1) }, of: place, keys: keys)
  }

  /// What the device has read before and a list does not have any more.
  package func missing(in items: [KeyMessages.Item]) -> [KeyMessages.Item] {
    let names = Set(items.map(\.name))
    return texts.enumerated().map { KeyMessages.Item(Self.name($0 + 1), $1) }.filter { !names.contains($0.name) }
  }

  /// Whether the zone's next secret is for somebody who has shown that they have an older one.
  package func admits(_ user: UserName) -> Bool {
    shares.values.contains { $0.isOpen || $0.users.contains(user) }
  }

  private mutating func apply(_ entry: Entry) {
    let old = shares[entry.name]
    let new = entry.users.map { Share(root: entry.root, isOpen: entry.isOpen ?? false, users: Set($0)) }
    shares[entry.name] = new
    if let round = entry.round {
      rounds.append(round)
      isSpent = false
    } else if let old, old.isOpen && new?.isOpen != true || !old.users.isSubset(of: new?.users ?? []) {
      isSpent = true
    }
  }

  // MARK: What a device adds

  /// What a device adds for a share that its app saves.
  /// - Parameter isNew: Whether the share begins. Then the zone gets another secret, unless everybody who has the present
  ///   one is in another of its shares: the address of a share that is made again has another key.
  /// - Parameter round: What that secret is made with.
  package func entries(
    for share: Share, named name: RecordName, isNew: Bool, round: String, of place: ZonePlace, key: AccountKey
  ) -> [KeyMessages.Item] {
    // What seems to be there already is for the service to refuse, or else for `entries(renewing:)`.
    if shares[name] == share || isNew && shares[name] != nil { return [] }
    // One that had the same root is over, whoever ended it.
    let over = isNew ? shares.filter { $0.key != name && $0.value.root == share.root }.map(\.key).sorted() : []
    let others = shares.keys.filter { $0 != name && !over.contains($0) }
    let begins = isNew && (isSpent || !over.isEmpty || others.isEmpty)
    let entry = Entry(
      name: name, root: share.root, isOpen: share.isOpen, users: share.users.sorted(), round: begins ? round : nil)
    return items(over.map { Entry(name: $0) } + [entry], of: place, key: key)
  }

  /// What a device adds for a share that began though it seemed to be there: somebody without the account's key ended it.
  package func entries(
    renewing share: Share, named name: RecordName, round: String, of place: ZonePlace, key: AccountKey
  ) -> [KeyMessages.Item] {
    let entry = Entry(
      name: name, root: share.root, isOpen: share.isOpen, users: share.users.sorted(), round: round)
    return items([entry], of: place, key: key)
  }

  /// What a device adds when records are deleted: the shares that end with them.
  package func entries(
    forDeleting names: Set<RecordName>, of place: ZonePlace, key: AccountKey
  ) -> [KeyMessages.Item] {
    let over = shares.filter { name, share in names.contains(name) || share.root.map(names.contains) ?? false }
    return items(over.keys.sorted().map { Entry(name: $0) }, of: place, key: key)
  }

  /// What a device adds when something was not done after all: the shares are what they were.
  package func entries(restoring before: ZoneRoster, _ names: Set<RecordName>, of place: ZonePlace, key: AccountKey)
    -> [KeyMessages.Item]
  {
    let entries = names.sorted().compactMap { name -> Entry? in
      let old = before.shares[name]
      if old == shares[name] { return nil }
      return Entry(name: name, root: old?.root, isOpen: old?.isOpen, users: old?.users.sorted())
    }
    return items(entries, of: place, key: key)
  }

  private func items(_ entries: [Entry], of place: ZonePlace, key: AccountKey) -> [KeyMessages.Item] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return entries.enumerated().compactMap { index, entry in
      let number = texts.count + 1 + index
      // Names and flags can always be encoded.
      guard let plain = try? encoder.encode(entry) else { return nil }
      let sealed = key.wrapping.seal(Array(plain), for: Self.context(number, place))
      return KeyMessages.Item(Self.name(number), "\(key.id).\(Base64.encode(sealed))")
    }
  }

  private static func name(_ number: Int) -> String { "\(prefix)\(number)" }

  private static func context(_ number: Int, _ place: ZonePlace) -> [UInt8] {
    SignedText.text("virga roster 1", place.parts + ["\(number)"])
  }

  private static func open(_ text: String, number: Int, of place: ZonePlace, keys: [AccountKey]) -> Entry? {
    let parts = text.split(separator: ".", maxSplits: 1).map(String.init)
    guard parts.count == 2, let key = keys.first(where: { $0.id == KeyID(parts[0]) }),
      let plain = Base64.decode(parts[1]).flatMap({ key.wrapping.open($0, for: context(number, place)) })
    else { return nil }
    return try? JSONDecoder().decode(Entry.self, from: Data(plain))
  }
}
