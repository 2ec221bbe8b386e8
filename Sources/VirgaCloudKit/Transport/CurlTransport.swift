import CCurl
import Foundation
import Synchronization

/// Requests by libcurl: any number at once on one thread of our own, over connections that are kept and used again.
package final class CurlTransport: Transport {
  private let loop: CurlLoop
  private let certificateFile: String?

  /// - Parameter certificateFile: The certificates of authorities that are trusted, in PEM form; the file that
  ///   `$VIRGA_CA_FILE` names, or the system's, without one.
  package init(certificateFile: String? = nil) {
    let variable = ProcessInfo.processInfo.environment["VIRGA_CA_FILE"].flatMap { $0.isEmpty ? nil : $0 }
    self.certificateFile = certificateFile ?? variable
    loop = CurlLoop()
    let loop = loop
    let thread = Thread { loop.run() }
    thread.name = "virga-transport"
    thread.start()
  }

  deinit { loop.stop() }

  package func send(_ request: TransportRequest) async throws -> TransportResponse {
    let transfer = Transfer(request, certificateFile: certificateFile)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        transfer.continuation = continuation
        loop.start(transfer)
      }
    } onCancel: {
      transfer.isCancelled.store(true, ordering: .relaxed)
      loop.cancel(transfer)
    }
  }
}

/// The thread's work: takes transfers in, moves them, and gives their answers out.
private final class CurlLoop: @unchecked Sendable {
  // Unchecked because of the pointer, which only the thread uses, but for the wake-up, which may come from any thread,
  // and for the fields below it, which only the thread uses.
  private struct Inbox: Sendable {
    var arriving: [Transfer] = []
    var cancelled: [Transfer] = []
    var isStopping = false
  }

  private let inbox = Mutex(Inbox())
  private let multi: UnsafeMutableRawPointer
  private var active: [UnsafeMutableRawPointer: Transfer] = [:]
  private var idle: [UnsafeMutableRawPointer] = []

  /// libcurl has to be set up once in a process, before any other use.
  private static let isSetUp: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  /// Handles kept for later requests; they are cheap to make, dear to make for each request.
  private static let idleHandlesMax = 16

  init() {
    precondition(Self.isSetUp, "libcurl cannot be set up")
    guard let multi = curl_multi_init() else { preconditionFailure("out of memory for libcurl") }
    self.multi = multi
  }

  deinit {
    for easy in idle { curl_easy_cleanup(easy) }
    curl_multi_cleanup(multi)
  }

  // MARK: From any thread

  func start(_ transfer: Transfer) {
    inbox.withLock { $0.arriving.append(transfer) }
    curl_multi_wakeup(multi)
  }

  func cancel(_ transfer: Transfer) {
    inbox.withLock { $0.cancelled.append(transfer) }
    curl_multi_wakeup(multi)
  }

  func stop() {
    inbox.withLock { $0.isStopping = true }
    curl_multi_wakeup(multi)
  }

  // MARK: On the thread

  func run() {
    while true {
      let mail = inbox.withLock { inbox in
        let mail = inbox
        inbox.arriving = []
        inbox.cancelled = []
        return mail
      }
      for transfer in mail.arriving { add(transfer) }
      for transfer in mail.cancelled { remove(transfer) }
      if mail.isStopping { break }
      var running: Int32 = 0
      curl_multi_perform(multi, &running)
      finishTransfers()
      // Wakes for sockets, for libcurl's own timers and for mail.
      curl_multi_poll(multi, nil, 0, 60_000, nil)
    }
    // Nobody can be waiting: whoever waits keeps the transport, and so the loop, from stopping.
    for (easy, _) in active { curl_multi_remove_handle(multi, easy) }
  }

  private func add(_ transfer: Transfer) {
    guard !transfer.isCancelled.load(ordering: .relaxed) else {
      transfer.finish(.failure(.cancelled))
      return
    }
    guard let easy = idle.popLast() ?? curl_easy_init() else {
      transfer.finish(.failure(.failed("out of memory")))
      return
    }
    transfer.prepare(easy)
    active[easy] = transfer
    curl_multi_add_handle(multi, easy)
  }

  /// Ends a transfer that was cancelled. One that did not arrive yet is found cancelled when it does.
  private func remove(_ transfer: Transfer) {
    guard let easy = transfer.easy, active[easy] === transfer else { return }
    retire(easy)
    transfer.finish(.failure(.cancelled))
  }

  private func finishTransfers() {
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let transfer = active[easy]
      else { continue }
      let result = ccurl_message_result(message)
      let outcome = transfer.outcome(result, easy)
      retire(easy)
      transfer.finish(outcome)
    }
  }

  private func retire(_ easy: UnsafeMutableRawPointer) {
    curl_multi_remove_handle(multi, easy)
    active[easy] = nil
    if idle.count < Self.idleHandlesMax {
      curl_easy_reset(easy)
      idle.append(easy)
    } else {
      curl_easy_cleanup(easy)
    }
  }
}
