public import Foundation
import Synchronization
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

/// The record that lets others see a hierarchy of records, or a whole zone.
///
/// Save a new share together with its root record, in one operation. A share is always saved as
/// `ifServerRecordUnchanged`, whatever the operation says.
public final class CKShare: CKRecord, @unchecked Sendable {
  // Unchecked as its superclass is; what it adds is in a mutex of its own.
  /// Somebody who is in a share, or invited.
  public typealias Participant = CKShareParticipant
  /// What an address shares, for those who may join.
  public typealias Metadata = CKShareMetadata

  /// What a share says besides its fields.
  struct Terms: Sendable {
    /// nil for a zone's share.
    var root: RecordName?
    var publicPermission = SharePermission.none
    /// The owner comes first.
    var participants: [CKShareParticipant]
    var currentUserIndex: Int? = 0
    /// What the service said last; nil before the first save.
    var known: ShareDetails?
    var url: URL?
    var allowsAccessRequests = false
    /// Whom the app has invited with this object, or with the one that it was copied from.
    var invited: Set<UserName> = []

    /// A new share's: of its owner alone, who is whoever saves it.
    init(root: RecordName?) {
      self.root = root
      let owner = ShareParticipant(
        identity: UserIdentity(), role: .owner, permission: .readWrite, acceptanceStatus: .accepted)
      participants = [CKShareParticipant(owner)]
    }

    init(_ details: ShareDetails, root: RecordName?, url: URL?) {
      self.root = root
      self.url = url
      participants = []
      adopt(details)
    }

    /// Takes over what the service says; people who are in the list already keep their object.
    mutating func adopt(_ details: ShareDetails) {
      let before = participants
      known = details
      publicPermission = details.publicPermission
      participants = details.participants.map { model in
        guard let same = before.first(where: { $0.model.isSamePerson(as: model) }) else {
          return CKShareParticipant(model)
        }
        same.model = model
        return same
      }
      currentUserIndex = details.currentUserIndex
    }

    /// What a save has to send.
    var change: ShareChange {
      var change = ShareChange()
      if known == nil { change.root = root.map { ShareChange.Root($0) } }
      if known?.publicPermission != publicPermission { change.publicPermission = publicPermission }
      let others = participants.map(\.model).filter { $0.role != .owner }
      if (known?.participants.filter { $0.role != .owner } ?? []) != others { change.participants = others }
      return change
    }
  }

  private let terms: Mutex<Terms>

  /// Makes a share of a record and of all that reaches it by `parent`.
  ///
  /// The record's `share` refers to the new share from now on. Its zone must be a custom zone.
  public convenience init(rootRecord: CKRecord) {
    let id = CKRecord.ID(recordName: "Share-" + UUID().uuidString, zoneID: rootRecord.recordID.zoneID)
    self.init(rootRecord: rootRecord, shareID: id)
  }

  /// - Parameter shareID: In the zone of the root record.
  public init(rootRecord: CKRecord, shareID: CKRecord.ID) {
    precondition(shareID.zoneID == rootRecord.recordID.zoneID, "A share must be in the zone of its root record.")
    terms = Mutex(Terms(root: rootRecord.recordID.model.name))
    super.init(CKRecord.State(Record(id: shareID.model, type: .share)))
    rootRecord.state.withLock { $0.record.share = VirgaModel.Reference(recordName: shareID.model.name) }
  }

  /// Makes the share of a whole zone. Its record's name is `CKRecordNameZoneWideShare`.
  public init(recordZoneID: CKRecordZone.ID) {
    terms = Mutex(Terms(root: nil))
    super.init(CKRecord.State(Record(id: RecordID(.zoneShare, in: recordZoneID.model), type: .share)))
  }

  init(_ state: CKRecord.State, _ terms: Terms) {
    self.terms = Mutex(terms)
    super.init(state)
  }

  // MARK: Who may do what

  /// Where others find the share; nil before the first save.
  public var url: URL? { terms.withLock { $0.url } }

  /// The owner, the user, and those whom the user may see.
  public var participants: [Participant] { terms.withLock { $0.participants } }

  /// Who shares.
  public var owner: Participant {
    let all = participants
    return all.first { $0.role == .owner } ?? all.first
      ?? Participant(ShareParticipant(identity: UserIdentity(), role: .owner, permission: .unknown))
  }

  /// The participant that the present user is; nil if they are none.
  public var currentUserParticipant: Participant? {
    terms.withLock { terms in terms.currentUserIndex.map { terms.participants[$0] } }
  }

  /// What whoever knows the address may do; `none` is for those invited alone.
  ///
  /// Opening a share drops invitations that nobody has accepted; closing it again drops everybody.
  public var publicPermission: ParticipantPermission {
    get { ParticipantPermission(terms.withLock { $0.publicPermission }) }
    set {
      terms.withLock { terms in
        let isClosing = terms.publicPermission != .none && newValue == .none
        let isOpening = newValue == .readOnly || newValue == .readWrite
        terms.publicPermission = newValue.model
        let current = terms.currentUserIndex.map { terms.participants[$0] }
        terms.participants.removeAll { participant in
          participant.role != .owner && (isClosing || isOpening && participant.acceptanceStatus == .pending)
        }
        terms.currentUserIndex = current.flatMap { current in terms.participants.firstIndex { $0 === current } }
      }
    }
  }

  /// Invites somebody, or replaces what is said of them. Only while `publicPermission` is `none`.
  public func addParticipant(_ participant: Participant) {
    terms.withLock { terms in
      precondition(terms.publicPermission == .none, "You can invite people by name only to a share that is not public.")
      let model = participant.model
      if let user = model.identity.user { terms.invited.insert(user) }
      if let index = terms.participants.firstIndex(where: { $0.model.isSamePerson(as: model) }) {
        terms.participants[index] = participant
      } else {
        terms.participants.append(participant)
      }
    }
  }

  /// Takes somebody out who was in `participants`.
  public func removeParticipant(_ participant: Participant) {
    terms.withLock { terms in
      let index = terms.participants.firstIndex { $0 === participant || $0 == participant }
      guard let index else { preconditionFailure("The participant does not belong to the share.") }
      let current = terms.currentUserIndex.map { terms.participants[$0] }
      if let user = terms.participants.remove(at: index).model.identity.user { terms.invited.remove(user) }
      terms.currentUserIndex = current.flatMap { current in terms.participants.firstIndex { $0 === current } }
    }
  }

  /// Whether people may ask to be let in. Kept in the object, and not saved: the protocol has no such requests.
  public var allowsAccessRequests: Bool {
    get { terms.withLock { $0.allowsAccessRequests } }
    set { terms.withLock { $0.allowsAccessRequests = newValue } }
  }

  /// Always nil: the protocol has no addresses for one use.
  public func oneTimeURL(for participantID: Participant.ID) -> URL? { nil }

  // MARK: Saves

  var change: ShareChange { terms.withLock { $0.change } }

  /// What a save says of those who take part.
  var plan: SharePlan.Save {
    let tag = state.withLock { $0.record.tag }
    let name = recordID.model.name
    return terms.withLock { terms in
      let users = terms.participants.map(\.model).filter { $0.role != .owner && $0.acceptanceStatus != .removed }
        .compactMap(\.identity.user)
      return SharePlan.Save(
        name: name, root: terms.root, tag: tag, isOpen: terms.publicPermission != .none, users: Set(users),
        invited: terms.invited)
    }
  }

  /// Brings the share up to date after a save.
  /// - Parameter sent: What the save sent; what was set since then stays.
  func settle(_ details: ShareDetails, url: URL?, sent: ShareChange) {
    terms.withLock { terms in
      terms.url = url ?? terms.url
      if terms.change == sent { terms.adopt(details) } else { terms.known = details }
    }
  }

  /// Adds what opens the zone's encrypted values to the address. What stands behind `#` is not sent to any server.
  func completeURL(with secret: ZoneSecret?) {
    guard let secret else { return }
    terms.withLock { terms in
      guard var parts = terms.url.flatMap({ URLComponents(url: $0, resolvingAgainstBaseURL: false) }) else { return }
      parts.percentEncodedFragment = secret.fragment
      terms.url = parts.url ?? terms.url
    }
  }

  // MARK: Archives and copies

  private struct Archived: Codable {
    var root: RecordName?
    var publicPermission: SharePermission
    var participants: [ArchivedParticipant]
    var currentUserIndex: Int?
    var known: Known?
    var url: URL?
    /// In order.
    var invited: [UserName]?

    struct Known: Codable {
      var publicPermission: SharePermission
      var participants: [ArchivedParticipant]
      var currentUserIndex: Int?
    }
  }

  private static let termsKey = "virga.share"

  public required convenience init?(coder: NSCoder) {
    guard let state = CKRecord.State(coder: coder), state.record.type == .share else { return nil }
    guard let archived = coder.archived(Archived.self, forKey: Self.termsKey) else {
      // One of Apple's. Who takes part in it says the service, once the share is fetched from here.
      guard coder.containsValue(forKey: "RecordType") else { return nil }
      self.init(state, Terms(root: nil))
      return
    }
    var terms = Terms(root: archived.root)
    terms.publicPermission = archived.publicPermission
    terms.participants = archived.participants.map { CKShareParticipant($0.model) }
    terms.currentUserIndex = archived.currentUserIndex.flatMap { terms.participants.indices.contains($0) ? $0 : nil }
    terms.url = archived.url
    terms.invited = Set(archived.invited ?? [])
    terms.known = archived.known.map { known in
      ShareDetails(
        publicPermission: known.publicPermission, participants: known.participants.map(\.model),
        currentUserIndex: known.currentUserIndex)
    }
    self.init(state, terms)
  }

  private func encodeTerms(with coder: NSCoder) {
    let terms = terms.withLock { $0 }
    let known = terms.known.map { known in
      Archived.Known(
        publicPermission: known.publicPermission, participants: known.participants.map(ArchivedParticipant.init),
        currentUserIndex: known.currentUserIndex)
    }
    coder.archive(
      Archived(
        root: terms.root, publicPermission: terms.publicPermission,
        participants: terms.participants.map { ArchivedParticipant($0.model) },
        currentUserIndex: terms.currentUserIndex, known: known, url: terms.url,
        invited: terms.invited.isEmpty ? nil : terms.invited.sorted()),
      forKey: Self.termsKey)
  }

  public override func encode(with coder: NSCoder) {
    super.encode(with: coder)
    encodeTerms(with: coder)
  }

  public override func encodeSystemFields(with coder: NSCoder) {
    super.encodeSystemFields(with: coder)
    encodeTerms(with: coder)
  }

  public override func copy(with zone: NSZone? = nil) -> Any {
    var terms = terms.withLock { $0 }
    terms.participants = terms.participants.map { CKShareParticipant($0.model) }
    return CKShare(state.withLock { $0 }, terms)
  }
}

extension CKShare {
  /// Names of fields that the system shows to those who are invited.
  public enum SystemFieldKey {
    /// The field for what the share is called, a text that is shown to those who are invited.
    public static let title: CKRecord.FieldKey = "cloudkit.title"
    /// The field for a small picture, as data, that is shown to those who are invited.
    public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
    /// The field for what kind of thing is shared, as a uniform type identifier.
    public static let shareType: CKRecord.FieldKey = "cloudkit.type"
  }
}

extension UserIdentity {
  /// The user whom it names; nil for an address or a telephone number.
  fileprivate var user: UserName? {
    if let userRecordName { return userRecordName }
    if case .userRecordName(let name) = lookupInfo { return name }
    return nil
  }
}

extension ShareParticipant {
  /// Whether both describe the same user.
  fileprivate func isSamePerson(as other: ShareParticipant) -> Bool {
    if let id, id == other.id { return true }
    if role == .owner || other.role == .owner { return role == other.role }
    if let name = identity.userRecordName { return name == other.identity.userRecordName }
    return identity.lookupInfo != nil && identity.lookupInfo == other.identity.lookupInfo
  }
}

extension CKDatabase {
  /// The object for a record: a share is of a class of its own.
  func object(_ record: Record) -> CKRecord {
    let seal = seal(of: record.id.zone)
    let state = CKRecord.State(record, seal: seal)
    guard record.type == .share else { return CKRecord(state) }
    let details = record.shareDetails ?? ShareDetails(participants: [])
    let share = CKShare(
      state, CKShare.Terms(details, root: record.share?.recordName, url: shareURL(record.shortGUID)))
    if let seal {
      seal.keyring.meetShare(record.id.name, in: seal.spot)
      share.completeURL(with: seal.keyring.secret(of: seal.spot))
    }
    return share
  }

  /// The address of a share, without the key that its owner's devices add.
  func shareURL(_ shortGUID: String?) -> URL? {
    guard let shortGUID else { return nil }
    let path = SharePath(container: container, environment: service.environment, shortGUID: shortGUID)
    return URL(string: service.isApples ? "https://www.icloud.com/share/" + shortGUID : service.endpoint + path.path)
  }
}

extension RemoteService {
  /// Whether the server is Apple's, whose shares have addresses of another form.
  var isApples: Bool { Self.isApples(endpoint) }

  static func isApples(_ endpoint: String) -> Bool {
    URL(string: endpoint)?.host?.hasSuffix("apple-cloudkit.com") ?? false
  }
}
