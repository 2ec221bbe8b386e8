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
    var isNew: Bool
    var isOpen: Bool
    /// Those who take part besides the owner, as the share has them.
    var users: Set<UserName>
    /// Those among them whom the app put there, and not the server.
    var invited: Set<UserName>
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
      if plan.saves.isEmpty, try !accounts.holdsKeys() { return nil }
      var before: ZoneRoster?
      for save in plan.saves {
        let round = Hex.encode(SystemRandom.bytes(16))
        let old = try await changeRoster(of: spot) { roster, key in
          let known = roster.shares[save.name]?.users ?? []
          let users = save.users.intersection(save.isNew ? save.users : known.union(save.invited))
          return roster.entries(
            for: ZoneRoster.Share(root: save.root, isOpen: save.isOpen, users: users), named: save.name,
            isNew: save.isNew, round: round, of: spot.place, key: key)
        }
        before = before ?? old
      }
      if !plan.deletions.isEmpty {
        let old = try await changeRoster(of: spot) { roster, key in
          roster.entries(forDeleting: plan.deletions, of: spot.place, key: key)
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
      let round = Hex.encode(SystemRandom.bytes(16))
      _ = try await changeRoster(of: spot) { roster, key in
        roster.entries(
          renewing: ZoneRoster.Share(root: save.root, isOpen: save.isOpen, users: save.users), named: save.name,
          round: round, of: spot.place, key: key)
      }
      _ = try await roster(of: spot)
    }
  }

  /// Takes back what was noted of shares that stay as they were, because their request was refused.
  func takeBack(_ names: Set<RecordName>, to before: ZoneRoster, in spot: Spot) async throws {
    try await translating {
      _ = try await changeRoster(of: spot) { roster, key in
        // A share that was noted as over is named by its root as well.
        let roots = before.shares.filter { _, share in share.root.map(names.contains) ?? false }.keys
        return roster.entries(restoring: before, names.union(roots), of: spot.place, key: key)
      }
    }
  }

  /// Adds to a zone's roster. Another device may do so at the same moment; then it is looked at once more.
  /// - Returns: The roster of before; `nil` if this device does not have the account's key, or the zone has no list.
  private func changeRoster(
    of spot: Spot, _ entries: (ZoneRoster, AccountKey) -> [KeyMessages.Item]
  ) async throws -> ZoneRoster? {
    for _ in 0..<Self.rosterAttemptsMax {
      let account = try await accountKeys(makingFirst: true)
      guard let current = account.keychain.current else { return nil }
      do {
        let roster = try await roster(of: spot)
        let items = entries(roster, current)
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
