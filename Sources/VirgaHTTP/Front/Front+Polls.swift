import VirgaModel
import VirgaServer
import VirgaWire

extension Front {
  /// Answers with the oldest notification that waits for a token, or parks until there is one. An empty answer says
  /// that the time is over.
  ///
  /// A notification is removed once its answer has gone to the client, so that it arrives at least once.
  func poll(_ token: String) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      let isKnown = try await store.read { try $0.entity(.pushToken, key: token) != nil }
      guard isKnown else { throw ServiceError(.notFound, "there is no such push token: create one anew") }
      let poll = polls.begin(token)
      defer { polls.end(poll) }
      while !Task.isCancelled {
        poll.arm()
        if let notification = try await takeNotification(token) { return answer(notification, token, uuid) }
        guard await poll.wait() == .woken else { break }
      }
      return HTTPResponse(status: 200, headers: HTTPHeaders([("X-Apple-Request-UUID", uuid)]))
    } catch {
      return failure(serviceError(error, uuid: uuid, during: "push"), uuid: uuid)
    }
  }

  /// The oldest notification that no other poll is delivering.
  private func takeNotification(_ token: String) async throws -> NotificationRow? {
    let rows = try await store.read { try $0.notifications(for: token, limit: Limits.notificationsPerTokenMax) }
    return rows.first { polls.claim($0.id) }
  }

  private func answer(_ notification: NotificationRow, _ token: String, _ uuid: String) -> HTTPResponse {
    var response = HTTPResponse.json(notification.payload, status: 200, uuid: uuid)
    response.whenDone = { [store, polls, log = configuration.log] isSent in
      guard isSent else {
        polls.release(notification.id)
        polls.wake(token)
        return
      }
      store.write({ try $0.removeNotifications([notification.id]) }) { result in
        // What could not be removed is delivered again, which a client must bear in any case.
        if case .failure(let error) = result { log("push: a notification that was delivered stays: \(error)") }
        polls.release(notification.id)
      }
    }
    return response
  }
}
