import Foundation
import VirgaModel
import VirgaSync

extension CKContainer {
  /// The pushes that the subscriptions of this container bring to this device, as they come.
  ///
  /// This is not part of Apple's API, where the system hands pushes to the app's delegate. Each loop over it has a queue
  /// of its own on the service, which keeps what comes between two pushes; it ends when its task is cancelled. Without a
  /// network or an account it waits until there is one. Changes that this device makes are not told.
  public var notifications: CKNotifications { CKNotifications(service: SyncService(privateCloudDatabase)) }
}

/// Pushes as they come; see `CKContainer.notifications`.
public struct CKNotifications: AsyncSequence, Sendable {
  public typealias Element = CKNotification
  public typealias Failure = Never

  private let service: SyncService

  fileprivate init(service: SyncService) { self.service = service }

  public func makeAsyncIterator() -> Iterator { Iterator(service) }

  /// Waits for one push after the other, with a queue of its own on the service.
  public struct Iterator: AsyncIteratorProtocol {
    private let service: SyncService
    private let environment = SyncEnvironment.system
    private var listener = PushListener()
    private var event = PushListener.Event.start
    private var random: SeededGenerator

    fileprivate init(_ service: SyncService) {
      self.service = service
      random = SeededGenerator(seed: environment.seed)
    }

    /// - Returns: nil once the task is cancelled.
    public mutating func next() async -> CKNotification? {
      while !Task.isCancelled {
        switch listener.handle(event, at: environment.now(), random: &random).next {
        case .subscribe:
          // What there is to be told of, the app says by its own subscriptions.
          event = .subscribed(.success(()))
        case .createToken: event = .tokenCreated(await service.createPushToken())
        case .poll(let url):
          let answer = await service.receive(url)
          event = .polled(answer.map { !$0.isEmpty })
          if case .success(let payload) = answer, let notification = Self.notification(payload) { return notification }
        case .pause(let time):
          do { try await environment.sleep(time) } catch { return nil }
          event = .paused
        }
      }
      return nil
    }

    /// nil for an empty answer, and for a push that is no notification of ours.
    private static func notification(_ payload: [UInt8]) -> CKNotification? {
      guard !payload.isEmpty, let object = try? JSONSerialization.jsonObject(with: Data(payload)),
        let dictionary = object as? [String: Any]
      else { return nil }
      return CKNotification(fromRemoteNotificationDictionary: dictionary)
    }
  }
}
