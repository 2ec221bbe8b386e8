/// Who may make a new account. Another device of an existing account joins under any policy, since that account's
/// user confirms it.
public enum EnrolmentPolicy: String, Hashable, Sendable, Codable, CaseIterable {
  /// Everybody who reaches the server.
  case open
  /// Whoever has an enrolment code.
  case invite
  /// Nobody.
  case closed
}
