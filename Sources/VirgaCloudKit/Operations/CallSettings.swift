import Foundation
import VirgaModel

/// How a database's calls are carried out.
struct CallSettings: Sendable {
  var requestTimeout: Duration = .seconds(ConfigurationValues.requestTimeout)
  /// How long calls are tried again while the network or the service fails; nil for calls that fail at once.
  var retriesFor: Duration?

  /// Between two tries, at most.
  private static let pauseMax: Duration = .seconds(300)

  init() {}

  init(_ values: ConfigurationValues) {
    if let seconds = values.timeoutIntervalForRequest { requestTimeout = Self.duration(seconds) }
    switch values.qualityOfService ?? .default {
    case .utility, .background:
      retriesFor = Self.duration(values.timeoutIntervalForResource ?? ConfigurationValues.resourceTimeout)
    default: break
    }
  }

  /// Apps may ask for a time without end, with which no clock can reckon.
  private static func duration(_ seconds: TimeInterval) -> Duration { .seconds(max(0, min(seconds, 1e9))) }

  /// Does the body, again and again while that can help.
  /// - Parameter isRepeatable: Whether the body does no harm when it is done twice.
  func retrying<Value>(
    on service: RemoteService, isRepeatable: Bool, _ body: () async throws -> Value
  ) async throws -> Value {
    guard let retriesFor else { return try await body() }
    let end = service.now() + retriesFor
    var pause: Duration = .seconds(1)
    while true {
      do {
        return try await body()
      } catch let error as CKError where error.isPassing(isRepeatable: isRepeatable) {
        let wait = max(pause, .seconds(error.retryAfterSeconds ?? 0))
        guard service.now() + wait <= end else { throw error }
        do { try await service.pause(wait) } catch {
          throw CKError(.operationCancelled, "The operation was cancelled.")
        }
        pause = min(pause * 2, Self.pauseMax)
      }
    }
  }
}

extension CKError {
  /// Whether the same request may succeed later.
  fileprivate func isPassing(isRepeatable: Bool) -> Bool {
    switch code {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .zoneBusy: true
    // It may have taken effect already.
    case .serverResponseLost: isRepeatable
    default: false
    }
  }
}
