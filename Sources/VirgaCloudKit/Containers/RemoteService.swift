public import Foundation
import Synchronization
package import VirgaAccounts
import VirgaAuth
package import VirgaModel
import VirgaWire

/// A server as this device sees it: its address, the device's account there, and the way to it.
package final class RemoteService: Sendable {
  package let endpoint: String
  package let environment: VirgaModel.Environment
  package let transport: any Transport
  /// Where fetched assets are kept.
  package let cacheFolder: String
  /// Names this process to the service, which does not tell it of its own changes.
  package let clientID = UUID().uuidString
  let accounts: AccountClient
  /// The tokens for a service that knows no devices of ours, such as Apple's; nothing of our own is then sent.
  package let tokens: WebTokens?
  /// The keys of encrypted values; `nil` for Apple's service, which encrypts by itself.
  let keyring: Keyring?
  package let now: @Sendable () -> Timestamp
  /// Waits that long, or throws when its task is cancelled.
  let pause: @Sendable (Duration) async throws -> Void
  private let clock = ServiceClock()
  /// The account of the last request, so that the home need not be read for each.
  private let lastAccount = Mutex<AccountID?>(nil)
  private let refusals: AccountRefusals
  /// Why the server gives this device no account, if it does not.
  private let refusal: Mutex<AccountRefusal?>

  /// - Parameter tokens: For a service that is to get nothing but what CloudKit Web Services know.
  /// - Parameter deviceName: What other devices of the account see.
  package init(
    endpoint: String, environment: VirgaModel.Environment, home: VirgaHome, transport: any Transport,
    tokens: WebTokens? = nil, deviceName: String = RemoteService.hostName,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(Date()) },
    pause: @escaping @Sendable (Duration) async throws -> Void = { try await ContinuousClock().sleep(for: $0) }
  ) {
    self.now = now
    self.pause = pause
    let transport = JudgedTransport(transport)
    self.endpoint = endpoint
    self.environment = environment
    self.transport = transport
    self.tokens = tokens
    cacheFolder = home.path + "/cache"
    refusals = AccountRefusals(home: home)
    refusal = Mutex(refusals.refusal(endpoint: endpoint))
    accounts = AccountClient(
      home: home, endpoint: endpoint, transport: AccountRequests(endpoint: endpoint, transport: transport),
      deviceName: deviceName, now: now)
    keyring = tokens != nil || Self.isApples(endpoint) ? nil : Keyring(accounts: accounts, now: now)
  }

  /// This machine's name as the kernel has it. Foundation's `hostName` may ask the network, and wait for it.
  package static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "device" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: The account

  /// What is known of the account without asking anybody. A device without an account counts as having one, because
  /// its first request makes one, unless the server has refused that. One that the service does not take at present is not
  /// gone: a user whose token has ended signs in again, and a server may have lost what it knew of a device.
  var accountStatus: CKAccountStatus {
    if let tokens {
      if tokens.isSignedIn { return .available }
      return tokens.webAuthToken == nil ? .noAccount : .temporarilyUnavailable
    }
    do {
      let known = try accounts.knownAccount()
      // A device that joined an account since is another one.
      guard let refusal = refusal.withLock({ $0 }), refusal.device == known?.device else { return .available }
      return refusal.isUnknown == true ? .temporarilyUnavailable : .noAccount
    } catch {
      return .couldNotDetermine
    }
  }

  /// The account, where the device has one already.
  package var accountID: AccountID? {
    guard tokens == nil, let account = try? accounts.knownAccount() else { return nil }
    return account.account
  }

  /// The account of the last request, or else the one that the device has.
  var currentAccount: AccountID? { lastAccount.withLock { $0 } ?? accountID }

  /// A session of the device's account.
  /// - Throws: `accountTemporarilyUnavailable`, once, if that is no longer the account of the requests before: what the
  ///   caller is about to send may belong to the former one.
  private func session() async throws -> AccountClient.Session {
    let before = lastAccount.withLock { $0 } ?? accountID
    let refused = RefusedRequest()
    do {
      let session = try await RefusedRequest.$current.withValue(refused) { try await accounts.session() }
      keyring?.keepOnlyKeys(of: session.account)
      let last = lastAccount.withLock { $0 }
      let isAllowedAgain = setRefusal(nil)
      // Engines hear of another account, and stop what they had begun, before any request is let through in its name.
      if isAllowedAgain || (last ?? before) != session.account { announceAccountChange() }
      lastAccount.withLock { $0 = session.account }
      if let last, last != session.account {
        throw CKError(.accountTemporarilyUnavailable, "The account of this device has changed.")
      }
      return session
    } catch is CancellationError {
      throw CKError(.operationCancelled, "The task was cancelled.")
    } catch let error as AccountError {
      let isUnknown = error == .deviceUnknown
      let error = CKError(error).naming(request: refused.id)
      if error.code == .notAuthenticated || isUnknown {
        let device = (try? accounts.knownAccount())?.device
        let isNews = setRefusal(
          AccountRefusal(reason: error.localizedDescription, device: device, isUnknown: isUnknown ? true : nil))
        if isNews { announceAccountChange() }
      }
      throw error
    }
  }

  /// A token with which a web page can act for this device's account in a container.
  func webAuthToken(for container: ContainerID, pageToken: String) async throws -> String {
    if let tokens {
      guard tokens.belong(to: pageToken), tokens.isSignedIn, let token = tokens.webAuthToken else {
        throw CKError(.notAuthenticated, "Nobody is signed in with this API token.")
      }
      return token
    }
    let refused = RefusedRequest()
    do {
      return try await RefusedRequest.$current.withValue(refused) {
        try await accounts.tokens(for: container, in: environment, page: pageToken)
      }.webAuthToken
    } catch let error as AccountError {
      throw CKError(error).naming(request: refused.id)
    }
  }

  /// Keeps whether there is a refusal; answers whether that is news.
  private func setRefusal(_ current: AccountRefusal?) -> Bool {
    let isNews = refusal.withLock { refusal in
      defer { refusal = current }
      return refusal != current
    }
    if isNews { refusals.set(current, endpoint: endpoint) }
    return isNews
  }

  private func announceAccountChange() { NotificationCenter.default.post(name: .CKAccountChanged, object: self) }

  /// The service's time, if it has been told. It is never behind the service's clock.
  package var serviceTime: Timestamp? { clock.time(at: now()) }

  // MARK: Calls

  /// Performs a call of the protocol.
  /// - Parameter zone: Where records of the answer lie that do not say so themselves.
  /// - Returns: The answer, and who asked, where a service of ours says it.
  /// - Throws: `CKError`, if the call failed as a whole.
  func perform(
    _ call: Call, container: ContainerID, scope: DatabaseScope, zone: ZoneID, timeout: Duration
  ) async throws -> (reply: Reply, user: UserName?) {
    // Calls about people belong to the public database, whichever asks.
    let scope = call.operation.needsUser ? .public : scope
    let endpoint = Endpoint(container: container, environment: environment, scope: scope, operation: call.operation)
    let method = call.isParameterless ? "GET" : "POST"
    var request = TransportRequest(method: method, url: self.endpoint + endpoint.path + "?clientId=\(clientID)")
    request.isRepeatable = call.operation.isReadOnly
    request.timeout = timeout
    if !call.isParameterless {
      request.body = .bytes(call.encoded())
      request.headers = [("Content-Type", "application/json")]
    }
    if tokens == nil {
      request.headers.append(("X-Virga-Extensions", "1"))
      if let limit = call.largePageLimit { request.headers.append(("X-Virga-Page", String(limit))) }
    }
    let sent = now()
    let answer = try await authorized(request)
    clock.note(date: answer[header: "Date"], ofRequestAt: sent)
    do {
      let reply = try Reply(decoding: answer.body, for: call.operation, in: zone)
      return (reply, tokens == nil ? answer[header: "X-Virga-User"].map { UserName($0) } : nil)
    } catch {
      throw CKError(unreadable: answer, to: call.operation.rawValue, error)
    }
  }

  /// Sends a request with a session, with a new one if the service has ended the first.
  /// - Throws: `CKError` for an answer that is no success.
  private func authorized(_ request: TransportRequest) async throws -> TransportResponse {
    if let tokens { return try await authorized(request, by: tokens) }
    guard !isApples else {
      throw CKError(.missingEntitlement, "Apple's service needs an API token of the container: set VIRGA_API_TOKEN.")
    }
    var isRetry = false
    while true {
      let session = try await session()
      var signed = request
      signed.headers.append(("X-Virga-Session", session.token))
      let answer = try await send(signed)
      if answer.isSuccess { return answer }
      if answer.refusesAccount, !isRetry {
        isRetry = true
        await accounts.drop(session)
        continue
      }
      throw CKError(answer, item: .request)
    }
  }

  /// Sends a request with tokens; again, if meanwhile another answer has brought the next one.
  private func authorized(_ request: TransportRequest, by tokens: WebTokens) async throws -> TransportResponse {
    var isRetry = false
    while true {
      let credentials = tokens.next()
      var signed = request
      signed.url += "&" + tokens.query(credentials)
      let answer = try await send(signed)
      if tokens.take(answer, to: credentials) { announceAccountChange() }
      if answer.isSuccess { return answer }
      if answer.refusesAccount, !isRetry, tokens.webAuthToken != credentials.webAuthToken {
        isRetry = true
        continue
      }
      throw CKError(answer, item: .request)
    }
  }

  /// The most items of one request. Apple's web service takes half as many as its native one, and as ours.
  var itemsPerRequestMax: Int { tokens == nil ? Limits.operationsPerRequestMax : Self.itemsPerWebRequestMax }

  private static let itemsPerWebRequestMax = 200

  /// Sends a request as it is.
  /// - Throws: `CKError` if no answer came.
  func send(_ request: TransportRequest) async throws -> TransportResponse {
    do { return try await transport.send(request) } catch let error as TransportError {
      throw CKError(error, from: request.url)
    }
  }
}

extension Call {
  /// Whether the call says nothing, and is a GET.
  fileprivate var isParameterless: Bool {
    switch self {
    case .zonesList, .subscriptionsList, .usersCaller, .usersCurrent: true
    default: false
    }
  }

  /// How many records a page may have; feeds are read in larger pages than other clients get.
  fileprivate var largePageLimit: Int? {
    switch self {
    case .changesZone, .recordsChanges: Limits.recordsPerLargePageMax
    default: nil
    }
  }
}

/// Carries the account's requests over the same transport as all others.
struct AccountRequests: AccountTransport {
  let endpoint: String
  let transport: any Transport

  func send(
    method: String, path: String, headers: [(name: String, value: String)], body: [UInt8]
  ) async throws -> (status: Int, body: [UInt8]) {
    var request = TransportRequest(method: method, url: endpoint + path)
    request.headers = headers
    request.body = .bytes(body)
    do {
      let answer = try await transport.send(request)
      if !answer.isSuccess { RefusedRequest.current?.note(answer) }
      return (answer.status, answer.body)
    } catch let error as TransportError {
      throw CKError(error, from: endpoint)
    }
  }
}

/// Which request of the account was refused last in a task: the client of accounts says why, and not which.
final class RefusedRequest: Sendable {
  @TaskLocal static var current: RefusedRequest?

  private let name = Mutex<String?>(nil)

  var id: String? { name.withLock { $0 } }

  func note(_ answer: TransportResponse) {
    let id = answer[header: "X-Apple-Request-UUID"]
    name.withLock { $0 = id }
  }
}

extension Notification.Name {
  /// Posted after the account of this device came, went or changed; ask `accountStatus()` again. Any thread may post it.
  public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}
