/// Development grows its schema as records are saved; production only by deploys.
public enum Environment: String, Hashable, Sendable, Codable, CaseIterable {
  case development
  case production
}
