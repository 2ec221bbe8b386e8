import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  /// Answers with the oldest notification that waits for a token, or parks until there is one. An empty answer says
  /// that the time is over.
  ///
  /// A notification is removed some time after its answer is with the system for sending, so that one commit removes
  /// many. If it cannot be sent, or the server is killed before the removal, it is given again, and so it may arrive
  /// twice; if the connection breaks after that it is lost. So a client that comes back asks for changes, as after any
  /// pause: a notification only says that it is time to.
  func poll(_ token: String) async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      let poll = polls.begin(token)
      defer { polls.end(poll) }
      while !Task.isCancelled {
        let given: (notification: NotificationRow, queue: PushQueue)
        switch polls.next(poll) {
        case .look(let number):
          try await look(number, at: token)
          continue
        case .give(let notification, let queue): given = (notification, queue)
        case .wait:
          switch await poll.wait() {
          case .woken: continue
          case .over: return Self.nothingNew(uuid)
          case .given(let notification, let queue): given = (notification, queue)
          }
        }
        guard faults.watches(given.queue.environment) else { return answer(given.notification, uuid) }
        if let response = try await answer(given.notification, uuid, meeting: faults(of: given.queue)) {
          return response
        }
      }
      return Self.nothingNew(uuid)
    } catch {
      return failure(serviceError(error, uuid: uuid, during: "push"), uuid: uuid)
    }
  }

  private static func nothingNew(_ uuid: String) -> HTTPResponse {
    HTTPResponse(status: 200, headers: HTTPHeaders([("X-Apple-Request-UUID", uuid)]))
  }

  /// Reads a queue and what waits in it, the oldest first.
  private func look(_ number: Int, at token: String) async throws {
    do {
      let found = try await store.read { [service] transaction in
        // It may have ended, with its device or because others came.
        guard let queue = try service.pushQueue(of: token, in: transaction) else {
          throw ServiceError(.notFound, "unknown push token; create a new one")
        }
        let waiting = try transaction.notifications(for: token, limit: Limits.notificationsPerTokenMax)
        return PollTable.Found(queue: queue, waiting: waiting)
      }
      polls.noteLook(number, at: token, found)
    } catch {
      polls.noteLook(number, at: token, nil)
      throw error
    }
  }

  /// Hands what a call put into queues to the polls that wait, once that is durable.
  func wake(_ wakes: Wakes) {
    if !wakes.notifications.isEmpty { polls.handOn(wakes.notifications) }
    for token in wakes.ended { polls.lookAgain(token) }
  }

  /// Removes what was delivered from the store. What could not be removed is tried again.
  package func removeDelivered() async {
    let delivered = polls.takeDelivered()
    if delivered.isEmpty { return }
    do {
      try await store.write { transaction in
        for (token, ids) in delivered { try transaction.removeNotifications(ids, of: token) }
      }
      polls.noteRemoval(delivered, isDone: true)
    } catch {
      polls.noteRemoval(delivered, isDone: false)
      configuration.log("push: notifications that were delivered stay for now: \(error)")
    }
  }

  private func faults(of queue: PushQueue) -> [FaultPlan.Rule] {
    var facts = FaultPlan.Facts(operation: FaultPlan.Operations.push, container: queue.container, scope: .private)
    (facts.user, facts.device, facts.client) = (queue.user, queue.device, queue.client)
    return faults.meet(facts)
  }

  /// - Returns: `nil` when a fault on purpose loses the notification, so that the poll waits for the next one.
  private func answer(
    _ notification: NotificationRow, _ uuid: String, meeting faults: [FaultPlan.Rule]
  ) async throws -> HTTPResponse? {
    do {
      for fault in faults {
        try await hold(fault.latency)
        switch fault.effect {
        case .error(let error, _): throw error
        case .cutBeforeCommit:
          polls.release(notification)
          return Self.brokenOff
        case .dropNotification:
          polls.drop(notification)
          await removeDelivered()
          return nil
        default: break
        }
      }
    } catch {
      polls.release(notification)
      throw error
    }
    var response = answer(notification, uuid)
    if faults.contains(where: { $0.effect == .repeatNotification }) {
      // It stays in its queue, and so comes again.
      response.whenDone = { [polls] _ in polls.release(notification) }
    }
    return response
  }

  private func answer(_ notification: NotificationRow, _ uuid: String) -> HTTPResponse {
    var response = HTTPResponse.json(notification.payload, status: 200, uuid: uuid)
    response.whenDone = { [polls] isSent in
      if isSent { polls.noteDelivery(notification) } else { polls.release(notification) }
    }
    return response
  }
}
