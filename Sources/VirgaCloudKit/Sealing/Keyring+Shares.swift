import Foundation
import VirgaAccounts
import VirgaAuth
import VirgaModel
import VirgaWire

/// What is about to become of a zone's shares.
struct SharePlan: Sendable {
  struct Save: Sendable {
    var name: RecordName
    var root: RecordName?
    /// The version that is saved over; nil for a share that begins.
    var tag: ChangeTag?
    var isOpen: Bool
    /// Those who take part besides the owner, as the share has them.
    var users: Set<UserName>
    /// Those among them whom the app put there, and not the server.
    var invited: Set<UserName>

    var isNew: Bool { tag == nil }
  }

  var saves: [Save] = []
  var deletions: Set<RecordName> = []

  var isEmpty: Bool { saves.isEmpty && deletions.isEmpty }
}

extension Keyring {
  /// Notes who takes part in a zone's shares, before that is so: whoever is taken out is handed no later key from then on,
  /// whatever becomes of the request, and nobody gets one because a server names them.
  /// - Returns: The roster of before; `nil` if nothing was to be noted.
  /// - Throws: `CKError`, if the service could not be asked.
  func note(_ plan: SharePlan, in spot: Spot) async throws -> ZoneRoster? {
    guard spot.owner == nil, !plan.isEmpty else { return nil }
    return try await translating {
      // Without keys there are no secrets to hand on.
      if plan.saves.isEmpty {
        guard try accounts.holdsKeys(), try mayEndShare(plan.deletions, in: spot) else { return nil }
      }
      var before: ZoneRoster?
      for save in plan.saves {
        let old = try await changeRoster(of: spot) { roster, pen in
          // A share that the roster never had is from a version before, or from elsewhere: once, those count whom it shows.
          let known = save.isNew ? nil : roster.participants(of: save.name, at: save.tag)
          let users = known.map { save.users.intersection($0.union(save.invited)) } ?? save.users
          return roster.entries(
            for: ZoneRoster.Share(root: save.root, isOpen: save.isOpen, users: users), named: save.name, at: save.tag,
            by: pen)
        }
        before = before ?? old
      }
      if !plan.deletions.isEmpty {
        let old = try await changeRoster(of: spot) { roster, pen in
          roster.entries(forDeleting: plan.deletions, by: pen)
        }
        before = before ?? old
      }
      return before
    }
  }

  /// Gives the zone another secret for a share that began though the roster had it: only the service could say that the
  /// one of before is over.
  func renew(_ save: SharePlan.Save, in spot: Spot) async throws {
    try await translating {
      _ = try await changeRoster(of: spot) { roster, pen in
        roster.entries(
          renewing: ZoneRoster.Share(root: save.root, isOpen: save.isOpen, users: save.users), named: save.name, by: pen
        )
      }
      _ = try await roster(of: spot)
    }
  }

  /// Takes back what was noted of shares that stay as they were, because their request was refused.
  func takeBack(_ names: Set<RecordName>, to before: ZoneRoster, in spot: Spot) async throws {
    try await translating {
      _ = try await changeRoster(of: spot) { roster, pen in
        // A share that was noted as over is named by its root as well.
        let roots = before.shares.filter { _, share in share.root.map(names.contains) ?? false }.keys
        return roster.entries(restoring: before, names.union(roots), by: pen)
      }
    }
  }

  /// Adds to a zone's roster. Another device may do so at the same moment; then it is looked at once more.
  /// - Returns: The roster of before; `nil` if this device does not have the account's key, or the zone has no list.
  private func changeRoster(
    of spot: Spot, _ entries: (ZoneRoster, ZoneRoster.Pen) -> [KeyMessages.Item]
  ) async throws -> ZoneRoster? {
    let unique = Hex.encode(SystemRandom.bytes(16))
    for _ in 0..<Self.rosterAttemptsMax {
      let account = try await accountKeys(makingFirst: true)
      guard let current = account.keychain.current else { return nil }
      do {
        let roster = try await roster(of: spot)
        let items = entries(roster, ZoneRoster.Pen(place: spot.place, key: current, unique: unique, now: now()))
        if items.isEmpty { return roster }
        let found = try await accounts.keyItems(of: spot.message, adding: items, as: account.account)
        forgetFreshness(of: spot)
        let stored = Set(found)
        let isKept = items.allSatisfy { item in stored.contains { $0.name == item.name && $0.value == item.value } }
        if isKept { return roster }
      } catch AccountError.refused(_, let code, let reason, _)
        where code == "ZONE_NOT_FOUND" || reason.hasPrefix(Reason.limitExceeded)
      {
        // That the zone is not there the request itself will say; a list that is full keeps nobody from ending a share.
        return nil
      }
    }
    throw AccountError.badAnswer("the server did not store the participants of the zone's shares")
  }

  private static let rosterAttemptsMax = 10
}
