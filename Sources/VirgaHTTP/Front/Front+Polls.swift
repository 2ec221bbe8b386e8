import VirgaModel
import VirgaServer
import VirgaWire

extension Front {
  /// Answers with the oldest notification that waits for a token, or parks until there is one. An empty answer says
  /// that the time is over.
  ///
  /// A notification is removed once its answer is with the system for sending. If that cannot be done it is given again,
  /// and so it may arrive twice; if the connection breaks after that it is lost. So a client that comes back asks for
  /// changes, as after any pause: a notification only says that it is time to.
  func poll(_ token: String) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      let poll = polls.begin(token)
      defer { polls.end(poll) }
      while !Task.isCancelled {
        poll.arm()
        // The queue may have ended meanwhile, with its device.
        let (queue, waiting) = try await look(at: token)
        if let notification = waiting.first(where: { polls.claim($0.id) }) {
          guard try await isStillWaiting(notification) else { continue }
          guard faults.watches(queue.environment) else { return answer(notification, token, uuid) }
          if let response = try await answer(notification, token, uuid, meeting: faults(of: queue)) { return response }
          continue
        }
        guard await poll.wait() == .woken else { break }
      }
      return HTTPResponse(status: 200, headers: HTTPHeaders([("X-Apple-Request-UUID", uuid)]))
    } catch {
      return failure(serviceError(error, uuid: uuid, during: "push"), uuid: uuid)
    }
  }

  /// A queue and what waits in it, the oldest first.
  private func look(at token: String) async throws -> (queue: PushQueue, waiting: [NotificationRow]) {
    try await store.read { [service] transaction in
      guard let queue = try service.pushQueue(of: token, in: transaction) else {
        throw ServiceError(.notFound, "there is no such push token: create one anew")
      }
      return (queue, try transaction.notifications(for: token, limit: Limits.notificationsPerTokenMax))
    }
  }

  /// Whether a notification that was just claimed waits: between the look and the claim another poll may have delivered
  /// it to the end.
  private func isStillWaiting(_ notification: NotificationRow) async throws -> Bool {
    do {
      let waiting = try await store.read {
        try $0.notifications(for: notification.pushToken, limit: Limits.notificationsPerTokenMax)
      }
      if waiting.contains(where: { $0.id == notification.id }) { return true }
    } catch {
      polls.release(notification.id)
      throw error
    }
    polls.release(notification.id)
    return false
  }

  private func faults(of queue: PushQueue) -> [FaultPlan.Rule] {
    var facts = FaultPlan.Facts(operation: FaultPlan.Operations.push, container: queue.container, scope: .private)
    (facts.user, facts.device, facts.client) = (queue.user, queue.device, queue.client)
    return faults.meet(facts)
  }

  /// - Returns: `nil` when a fault on purpose loses the notification, so that the poll waits for the next one.
  private func answer(
    _ notification: NotificationRow, _ token: String, _ uuid: String, meeting faults: [FaultPlan.Rule]
  ) async throws -> HTTPResponse? {
    do {
      for fault in faults {
        try await hold(fault.latency)
        switch fault.effect {
        case .error(let error, _): throw error
        case .cutBeforeCommit:
          polls.release(notification.id)
          return Self.brokenOff
        case .dropNotification:
          try await store.write { try $0.removeNotifications([notification.id]) }
          polls.release(notification.id)
          return nil
        default: break
        }
      }
    } catch {
      polls.release(notification.id)
      throw error
    }
    var response = answer(notification, token, uuid)
    if faults.contains(where: { $0.effect == .repeatNotification }) {
      // It stays in its queue, and so comes again.
      response.whenDone = { [polls] _ in
        polls.release(notification.id)
        polls.wake(token)
      }
    }
    return response
  }

  private func answer(_ notification: NotificationRow, _ token: String, _ uuid: String) -> HTTPResponse {
    var response = HTTPResponse.json(notification.payload, status: 200, uuid: uuid)
    response.whenDone = { [store, polls, log = configuration.log] isSent in
      guard isSent else {
        polls.release(notification.id)
        polls.wake(token)
        return
      }
      polls.noteDelivery()
      store.write({ try $0.removeNotifications([notification.id]) }) { result in
        // What could not be removed is delivered again, which a client must bear in any case.
        if case .failure(let error) = result { log("push: a notification that was delivered stays: \(error)") }
        polls.release(notification.id)
      }
    }
    return response
  }
}
