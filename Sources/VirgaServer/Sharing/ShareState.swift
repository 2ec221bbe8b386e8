import VirgaModel
import VirgaWire

/// Who takes part in a share, and with what permission. It lies in the share's record beside the fields, so that
/// each version of the record has its own.
struct ShareState: Hashable {
  var publicPermission: SharePermission
  /// The owner comes first.
  private(set) var participants: [ShareParticipant]
  /// Members that this version does not know, as JSON `"key":value,…`.
  private(set) var otherMembers: [UInt8]

  /// A share that was just made.
  init(owner: UserName, id: String) {
    publicPermission = .none
    participants = [
      ShareParticipant(
        id: id, identity: UserIdentity(userRecordName: owner, lookupInfo: .userRecordName(owner)), role: .owner,
        permission: .readWrite, acceptanceStatus: .accepted)
    ]
    otherMembers = []
  }

  init(_ record: StoredRecord) throws {
    guard record.type == .share else {
      throw StoreError.damaged("record '\(record.name)' stands where a share belongs")
    }
    var details = ShareDetails(participants: [])
    var others: [UInt8] = []
    do {
      var reader = JSONReader([UInt8(ascii: "{")] + record.unknownMembers + [UInt8(ascii: "}")])
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if try details.read(key, &reader) { continue }
        if !others.isEmpty { others.append(UInt8(ascii: ",")) }
        others += try reader.readRawMember()
      }
    } catch {
      throw StoreError.damaged("share '\(record.name)' cannot be read: expected \(error.expected)")
    }
    publicPermission = details.publicPermission
    participants = details.participants
    otherMembers = others
  }

  /// What the record holds besides its fields.
  var unknownMembers: [UInt8] {
    var writer = JSONWriter(capacity: 64 + 256 * participants.count)
    ShareDetails(publicPermission: publicPermission, participants: participants).writeStoredMembers(into: &writer)
    return otherMembers.isEmpty ? writer.bytes : writer.bytes + [UInt8(ascii: ",")] + otherMembers
  }

  mutating func keep(_ unknownMembers: [UInt8]) throws {
    otherMembers = try UnknownMembers.merge(otherMembers, unknownMembers)
  }

  // MARK: Who may do what

  func index(of user: UserName) -> Int? {
    participants.firstIndex { $0.identity.userRecordName == user }
  }

  func participant(_ user: UserName) -> ShareParticipant? { index(of: user).map { participants[$0] } }

  /// What a user may do who accepted; whoever joined by the share's address may do what everybody may.
  func permission(of participant: ShareParticipant) -> SharePermission {
    participant.role == .publicUser ? publicPermission : participant.permission
  }

  /// Those besides the owner who accepted.
  var members: [UserName] {
    participants.compactMap {
      $0.acceptanceStatus == .accepted && $0.role != .owner ? $0.identity.userRecordName : nil
    }
  }

  /// The share as a user sees it: who joins by an open address sees the owner and themselves.
  func details(for viewer: UserName?) -> ShareDetails {
    var shown = participants
    let own = viewer.flatMap { participant($0) }
    if publicPermission != .none, own?.role != .owner, own?.role != .administrator {
      shown = participants.filter { $0.role == .owner || $0 == own }
    }
    for index in shown.indices { shown[index].permission = permission(of: shown[index]) }
    let current = viewer.flatMap { viewer in shown.firstIndex { $0.identity.userRecordName == viewer } }
    return ShareDetails(publicPermission: publicPermission, participants: shown, currentUserIndex: current)
  }

  // MARK: Changes

  /// Applies what a request says. Opening a share to everybody ends the invitations that nobody accepted; closing it
  /// again takes it from all but the owner.
  mutating func apply(_ change: ShareChange, context: inout CallContext) throws {
    let old = publicPermission
    if let permission = change.publicPermission { publicPermission = permission }
    if let given = change.participants { try replaceParticipants(by: given, context: &context) }
    if publicPermission != .none {
      participants.removeAll { $0.acceptanceStatus != .accepted }
    } else if old != .none {
      participants.removeAll { $0.role == .publicUser || $0.role != .owner && change.participants == nil }
    }
    try Self.check(count: participants.count)
  }

  private static func check(count: Int) throws {
    if count > Limits.participantsPerShareMax {
      throw ServiceError.badRequest(
        "\(Reason.tooManyParticipants): \(count), at most \(Limits.participantsPerShareMax) allowed")
    }
  }

  private mutating func replaceParticipants(by given: [ShareParticipant], context: inout CallContext) throws {
    // Each is looked for among the others, so there are not to be many.
    try Self.check(count: given.count { $0.acceptanceStatus != .removed })
    var kept = participants.filter { $0.role == .owner }
    for participant in given {
      let name = participant.identity.invitedUser
      if participant.role == .owner || name == kept[0].identity.userRecordName {
        guard participant.role == .owner || participant.id == kept[0].id else {
          throw ServiceError.badRequest("the owner of a share is not one of its other participants")
        }
        continue
      }
      if participant.acceptanceStatus == .removed { continue }
      guard name != nil || participant.identity.lookupInfo != nil || participant.id != nil else {
        throw ServiceError.badRequest("a participant needs a userRecordName, an e-mail address or a telephone number")
      }
      let known = participants.first { $0.isSame(as: participant) && $0.role != .owner }
      var next = known ?? participant.invited(id: context.makeUUID())
      guard participant.permission != .none, participant.permission != .unknown || known != nil else {
        throw ServiceError.badRequest("a participant's permission must be READ_ONLY or READ_WRITE")
      }
      if participant.permission != .unknown { next.permission = participant.permission }
      if participant.role == .administrator || participant.role == .privateUser, next.role != .publicUser {
        next.role = participant.role
      }
      if let index = kept.firstIndex(where: { $0.isSame(as: next) }) {
        kept[index] = next
      } else {
        kept.append(next)
      }
    }
    participants = kept
  }

  /// Takes the invitation of a user, or lets them in by the share's address.
  /// - Returns: Whether anything changed; accepting twice is as good as once.
  /// - Throws: `accessDenied` for whoever was not invited to a share that is not open.
  mutating func accept(_ user: UserName, context: inout CallContext) throws -> Bool {
    if let index = index(of: user) {
      if participants[index].acceptanceStatus == .accepted { return false }
      participants[index].acceptanceStatus = .accepted
      return true
    }
    guard publicPermission != .none else { throw ServiceError(.accessDenied, Reason.notInvited) }
    let identity = UserIdentity(userRecordName: user, lookupInfo: .userRecordName(user))
    participants.append(
      ShareParticipant(
        id: context.makeUUID(), identity: identity, role: .publicUser, permission: publicPermission,
        acceptanceStatus: .accepted))
    try Self.check(count: participants.count)
    return true
  }

  mutating func remove(_ user: UserName) {
    participants.removeAll { $0.identity.userRecordName == user && $0.role != .owner }
  }
}

extension UserIdentity {
  /// The user that an invitation names.
  fileprivate var invitedUser: UserName? {
    if let userRecordName { return userRecordName }
    if case .userRecordName(let name) = lookupInfo { return name }
    return nil
  }
}

extension ShareParticipant {
  fileprivate func isSame(as other: ShareParticipant) -> Bool {
    if let id, id == other.id { return true }
    if let user = identity.invitedUser { return user == other.identity.invitedUser }
    return identity.lookupInfo != nil && identity.lookupInfo == other.identity.lookupInfo
  }

  /// As the server keeps somebody who was just invited, whatever the client says of them.
  fileprivate func invited(id: String) -> ShareParticipant {
    var copy = self
    copy.id = id
    copy.role = role == .administrator ? .administrator : .privateUser
    copy.acceptanceStatus = .invited
    if let user = identity.invitedUser {
      copy.identity.userRecordName = user
      copy.identity.lookupInfo = copy.identity.lookupInfo ?? .userRecordName(user)
    }
    return copy
  }
}
