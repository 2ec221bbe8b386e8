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

  /// The time from the first share of a zone to the zone's end. A zone of the same name that is made later has another one.
  package struct Life: Hashable, Sendable, Codable {
    /// Random.
    var name: String
    /// One more than that of the life before, as far as the device knew of it.
    var generation: Int
    /// When it began, by the clock of the device that began it.
    var time: Timestamp

    /// Whether it came after another one, and not at the same moment: of two devices that begin one at once, only one is kept.
    fileprivate func isAfter(_ other: Life) -> Bool {
      if generation != other.generation { return generation > other.generation }
      return time > other.time + .seconds(60)
    }
  }

  /// What a device keeps of a roster.
  package struct Stored: Codable, Hashable, Sendable {
    /// In order.
    var texts: [String] = []
    /// The last life that it has read, also of a zone that is gone.
    var life: Life?
    /// Digests of the first texts of rosters that are over: none of them is believed again.
    var former: [String]?

    var isEmpty: Bool { texts.isEmpty && life == nil && (former ?? []).isEmpty }

    /// The same after the zone's end.
    var over: Stored {
      let digests = (former ?? []) + texts.prefix(1).map(ZoneRoster.digest)
      return Stored(life: life, former: digests.suffix(Self.formerMax))
    }

    private static let formerMax = 32
  }

  /// What a device writes with.
  package struct Pen {
    package var place: ZonePlace
    package var key: AccountKey
    /// A random text: what a new secret is made with, and the name of the life that begins.
    package var unique: String
    package var now: Timestamp

    package init(place: ZonePlace, key: AccountKey, unique: String, now: Timestamp) {
      self.place = place
      self.key = key
      self.unique = unique
      self.now = now
    }
  }

  /// One thing that a device of the owner did. It is one text, so that no part of it is kept alone.
  private struct Entry: Codable {
    var name: RecordName
    var root: RecordName?
    var isOpen: Bool?
    /// In order; nil where the share ended.
    var users: [UserName]?
    /// A new secret of the zone begins.
    var round: String?
    /// Other shares that end with it.
    var ends: [RecordName]?
    /// The version of the share that the device saved over.
    var tag: ChangeTag?
    /// In the first entry alone; versions before wrote none.
    var life: Life?
    /// In all others the name of that life.
    var lifeName: String?
  }

  /// Those who took part before what was noted last, which may not have been done.
  private struct Past: Hashable {
    /// The version that it was to be done to; nil if the share was to end.
    var tag: ChangeTag?
    var users: Set<UserName>
  }

  package private(set) var shares: [RecordName: Share] = [:]
  /// What the zone's secrets were made with besides the account's key, oldest first.
  package private(set) var rounds: [String] = []
  /// Whether somebody has the zone's secret who is in no share any more.
  private(set) var isSpent = false
  /// What was read.
  package private(set) var stored = Stored()
  private var past: [RecordName: Past] = [:]

  private var texts: [String] { stored.texts }

  private static let prefix = "roster/"

  package init() {}

  /// - Parameter items: The zone's list.
  /// - Parameter known: What the device has read before. A server that says less, or something else, is not believed.
  package init(_ items: [KeyMessages.Item], of place: ZonePlace, keys: [AccountKey], known: ZoneRoster = ZoneRoster()) {
    let found = Dictionary(
      items.filter { $0.name.hasPrefix(Self.prefix) }.map { ($0.name, $0.value) },
      uniquingKeysWith: { first, _ in first })
    self = known
    if let first = found[Self.name(1)], first != texts.first {
      // A zone that was deleted and made again has a new roster. Only a device with the key can write one.
      if let entry = Self.open(first, number: 1, of: place, keys: keys), canBegin(with: entry, first) {
        self = ZoneRoster()
        stored = known.stored.over
      } else if !texts.isEmpty {
        return
      }
    }
    while let text = found[Self.name(texts.count + 1)],
      let entry = Self.open(text, number: texts.count + 1, of: place, keys: keys),
      texts.isEmpty ? canBegin(with: entry, text) : entry.lifeName == stored.life?.name
    {
      apply(entry)
      if texts.isEmpty { stored.life = entry.life ?? stored.life }
      stored.texts.append(text)
    }
  }

  /// - Parameter stored: As the device has kept it.
  init(_ stored: Stored, of place: ZonePlace, keys: [AccountKey]) {
    var before = ZoneRoster()
    before.stored.life = stored.life
    self.init(
      stored.texts.enumerated().map { KeyMessages.Item(Self.name($0 + 1), $1) }, of: place, keys: keys, known: before)
    self.stored.former = stored.former
  }

  /// Whether a roster that is not the one that was read may take its place: one that is over may not, and of two with a time only
  /// the later.
  private func canBegin(with entry: Entry, _ text: String) -> Bool {
    if stored.former?.contains(Self.digest(text)) == true { return false }
    guard let life = stored.life else { return true }
    guard let new = entry.life else { return false }
    // The same one may be read again where its texts are too long to be kept.
    return texts.isEmpty && new == life || new.isAfter(life)
  }

  fileprivate static func digest(_ text: String) -> String { String(SHA256.hexDigest(of: text).prefix(32)) }

  /// What the device has read before and a list does not have any more.
  package func missing(in items: [KeyMessages.Item]) -> [KeyMessages.Item] {
    let names = Set(items.map(\.name))
    // To the list of another life this one has nothing to add.
    if items.contains(where: { $0.name == Self.name(1) && $0.value != texts.first }) { return [] }
    return texts.enumerated().map { KeyMessages.Item(Self.name($0 + 1), $1) }.filter { !names.contains($0.name) }
  }

  /// Whether the zone's next secret is for somebody who has shown that they have an older one.
  package func admits(_ user: UserName) -> Bool {
    shares.values.contains { $0.isOpen || $0.users.contains(user) }
  }

  /// Those who may be in a share that is there.
  /// - Parameter tag: Its version. If it is the one that a change was noted for, the change was not made.
  /// - Returns: nil if the roster never had the share.
  package func participants(of name: RecordName, at tag: ChangeTag?) -> Set<UserName>? {
    guard let share = shares[name] else { return past[name]?.users }
    guard let past = past[name], past.tag == tag else { return share.users }
    return share.users.union(past.users)
  }

  private mutating func apply(_ entry: Entry) {
    for name in entry.ends ?? [] { end(name) }
    guard let users = entry.users else { return end(entry.name) }
    let new = Share(root: entry.root, isOpen: entry.isOpen ?? false, users: Set(users))
    let old = shares.updateValue(new, forKey: entry.name)
    let before = past.removeValue(forKey: entry.name)
    if let tag = entry.tag {
      let earlier = old == nil || before?.tag == tag ? before?.users ?? [] : []
      past[entry.name] = Past(tag: tag, users: earlier.union(old?.users ?? []))
    }
    if let round = entry.round {
      rounds.append(round)
      isSpent = false
    } else if let old, old.isOpen && !new.isOpen || !old.users.isSubset(of: new.users) {
      isSpent = true
    }
  }

  private mutating func end(_ name: RecordName) {
    guard let old = shares.removeValue(forKey: name) else { return }
    past[name] = Past(users: old.users)
    if old.isOpen || !old.users.isEmpty { isSpent = true }
  }

  // MARK: What a device adds

  /// What a device adds for a share that its app saves.
  /// - Parameter tag: The version of it that the app saves over; nil if the share begins. Then the zone gets another secret,
  ///   unless everybody who has the present one is in another of its shares: the address of a share that is made again has
  ///   another key.
  package func entries(for share: Share, named name: RecordName, at tag: ChangeTag?, by pen: Pen) -> [KeyMessages.Item]
  {
    let isNew = tag == nil
    // What seems to be there already is for the service to refuse, or else for `entries(renewing:)`.
    if shares[name] == share || isNew && shares[name] != nil { return [] }
    // An earlier share of the same root has ended, no matter who ended it.
    let over = isNew ? shares.filter { $0.key != name && $0.value.root == share.root }.map(\.key).sorted() : []
    let others = shares.keys.filter { $0 != name && !over.contains($0) }
    let begins = isNew && (isSpent || !over.isEmpty || others.isEmpty)
    var entry = Entry(name: name, root: share.root, isOpen: share.isOpen, users: share.users.sorted())
    entry.round = begins ? pen.unique : nil
    entry.ends = over.isEmpty ? nil : over
    entry.tag = tag
    return items([entry], by: pen)
  }

  /// What a device adds for a share that began though it seemed to be there: somebody without the account's key ended it.
  package func entries(renewing share: Share, named name: RecordName, by pen: Pen) -> [KeyMessages.Item] {
    items(
      [
        Entry(
          name: name, root: share.root, isOpen: share.isOpen, users: share.users.sorted(), round: pen.unique)
      ], by: pen)
  }

  /// The shares that end when records are deleted.
  package func shares(endingWith names: Set<RecordName>) -> [RecordName] {
    shares.filter { name, share in names.contains(name) || share.root.map(names.contains) ?? false }.keys.sorted()
  }

  /// What a device adds when records are deleted: the shares that end with them.
  package func entries(forDeleting names: Set<RecordName>, by pen: Pen) -> [KeyMessages.Item] {
    let over = shares(endingWith: names)
    guard let first = over.first else { return [] }
    return items([Entry(name: first, ends: over.count > 1 ? Array(over.dropFirst()) : nil)], by: pen)
  }

  /// What a device adds when something was not done after all: the shares are what they were.
  package func entries(restoring before: ZoneRoster, _ names: Set<RecordName>, by pen: Pen) -> [KeyMessages.Item] {
    let entries = names.sorted().compactMap { name -> Entry? in
      let old = before.shares[name]
      if old == shares[name] { return nil }
      return Entry(name: name, root: old?.root, isOpen: old?.isOpen, users: old?.users.sorted())
    }
    return items(entries, by: pen)
  }

  private func items(_ entries: [Entry], by pen: Pen) -> [KeyMessages.Item] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let life =
      texts.isEmpty
      ? Life(name: pen.unique, generation: (stored.life?.generation ?? 0) + 1, time: pen.now) : stored.life
    return entries.enumerated().compactMap { index, entry in
      let number = texts.count + 1 + index
      var entry = entry
      if number == 1 { entry.life = life } else { entry.lifeName = life?.name }
      // Names and flags can always be encoded.
      guard let plain = try? encoder.encode(entry) else { return nil }
      let sealed = pen.key.wrapping.seal(Array(plain), for: Self.context(number, pen.place))
      return KeyMessages.Item(Self.name(number), "\(pen.key.id).\(CanonicalBase64.encode(sealed))")
    }
  }

  private static func name(_ number: Int) -> String { "\(prefix)\(number)" }

  private static func context(_ number: Int, _ place: ZonePlace) -> [UInt8] {
    SignedText.text("virga roster 1", place.parts + ["\(number)"])
  }

  private static func open(_ text: String, number: Int, of place: ZonePlace, keys: [AccountKey]) -> Entry? {
    let parts = text.split(separator: ".", maxSplits: 1).map(String.init)
    guard parts.count == 2, let key = keys.first(where: { $0.id == KeyID(parts[0]) }),
      let plain = CanonicalBase64.decode(parts[1]).flatMap({ key.wrapping.open($0, for: context(number, place)) })
    else { return nil }
    return try? JSONDecoder().decode(Entry.self, from: Data(plain))
  }
}
