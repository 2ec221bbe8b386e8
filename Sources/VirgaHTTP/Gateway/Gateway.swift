import VirgaAuth
import VirgaModel
package import VirgaServer
import VirgaWire

/// The service over HTTP: routes, credentials, JSON, assets and long polls around the rules.
///
/// It needs no sockets: `exchange` answers a request in process as a connection would. `run` must be running somewhere
/// for polls to time out and for what nobody needs any more to be removed.
package final class Gateway: HTTPHandler {
  let configuration: GatewayConfiguration
  let names: ServedNames
  let store: any Store
  let service: Service
  package let authenticator: Authenticator
  package let accounts: AccountRoutes
  let credentials: OperatorRoutes
  let rates: RequestRates
  let indexes = IndexMaking()
  let hiddenReads = HiddenReads()
  let readiness = Readiness()
  let targets = TargetMemory()
  let removals = RemovalSignal()
  let pages = PagesAhead()
  let assets: AssetFolder
  let polls: PollTable
  let recentVersions = RecentVersions()
  let secrets: ServerSecrets
  let fieldKey: FieldKey
  let tokenKey: TokenKey
  package let faults = FaultDesk()
  package let metrics = Metrics()

  /// - Throws: `AssetFolderError` when the folders of the data folder cannot be made or cleared.
  package init(
    store: any Store, secrets: ServerSecrets, configuration: GatewayConfiguration
  ) throws(AssetFolderError) {
    self.configuration = configuration
    names = configuration.names ?? ServedNames(baseURL: configuration.baseURL)
    service = Service(quotas: configuration.quotas)
    self.store = store
    self.secrets = secrets
    fieldKey = secrets.fieldKey
    tokenKey = secrets.tokenKey
    assets = try AssetFolder(in: configuration.folder)
    polls = PollTable(seconds: configuration.pollTime)
    authenticator = Authenticator(
      store: store, secrets: secrets, policy: configuration.policy,
      baseURL: configuration.baseURL, containers: configuration.containers, now: configuration.now)
    metrics.add { [polls, pages] in
      [
        .init("virga_pages_prepared_total", .counter, "Pages of changes that were ready when asked for.", pages.taken),
        .init("virga_polls_parked", .gauge, "Long polls that wait for a notification.", polls.count),
        .init("virga_notifications_sent_total", .counter, "Notifications sent to clients.", polls.delivered),
      ]
    }
    rates = RequestRates(address: configuration.addressRate, user: configuration.userRate)
    accounts = AccountRoutes(
      authenticator: authenticator, signInAge: configuration.signInAge, keptSignInAge: configuration.keptSignInAge,
      quotas: configuration.quotas,
      admit: { [rates, now = configuration.now] account in try rates.admit(account, now: now()) },
      queuesEnded: { [polls] tokens in for token in tokens { polls.lookAgain(token) } })
    credentials = OperatorRoutes(authenticator: authenticator)
  }

  // MARK: HTTPHandler

  package func bodyPlan(for head: HTTPRequestHead) -> BodyPlan {
    if let refusal = refusal(ofPlace: head) { return .refuse(refusal) }
    // Nearly all requests are calls; what they ask for is told apart once, when they are answered.
    if Route.isBelowCalls(head.target) { return .bufferOnceAdmitted(limit: Limits.requestBytesMax) }
    switch Route(head) {
    case .call, .credentials: return .bufferOnceAdmitted(limit: Limits.requestBytesMax)
    case .account: return accounts.bodyPlan(for: head)
    case .schema: return .bufferOnceAdmitted(limit: Limits.schemaTextBytesMax)
    case .management: return .bufferOnceAdmitted(limit: Limits.managementRequestBytesMax)
    case .upload(let ticket):
      do {
        _ = try urls(for: head).claim(ticket: ticket, now: configuration.now())
        // Of a multipart body a part is kept, so that the digest of the whole says nothing.
        let isWhole = !MultipartFile.isMultipart(head.headers["Content-Type"])
        return .stream(directory: assets.uploads, limit: configuration.assetBytesMax, digests: isWhole)
      } catch {
        var response = refusal(error)
        if let origin = head.headers["Origin"] { response.allow(origin: origin) }
        return .refuse(response)
      }
    case .download, .push, .share, .health, .ready, .metrics, .preflight, .wrongMethod, .notFound, .malformed:
      return .buffer(limit: 65_536)
    }
  }

  /// Refuses what came under another name than the server's, or from elsewhere to a server that is for its own machine.
  private func refusal(ofPlace head: HTTPRequestHead) -> HTTPResponse? {
    guard names.serves(host: head.headers["Host"]) else {
      // A monitor asks a public server by its address.
      if names.isPublic, Route(head) == .health { return nil }
      return failure(
        ServiceError(
          .accessDenied,
          "this server does not answer to the name in this address; its operator must start it with --base-url"))
    }
    guard !names.isPublic, head.isForwarded else { return nil }
    return failure(
      ServiceError(
        .accessDenied,
        "this server is for its own machine only, but a proxy sent this request; its operator must start it with "
          + "--base-url and the address that clients use"))
  }

  package func respond(to request: HTTPRequest) async -> HTTPResponse {
    allowingOrigin(of: request, await answer(request))
  }

  package func refusal(ofCaller request: HTTPRequest) async -> HTTPResponse? {
    let target = targets.target(of: request.head)
    let start = ContinuousClock.now
    guard var response = await refusal(ofCaller: request, at: target) else { return nil }
    do { try rates.admit(address: request.callerAddress, now: configuration.now()) } catch { response = failure(error) }
    metrics.count(target.route, status: response.status, time: ContinuousClock.now - start)
    return allowingOrigin(of: request, response)
  }

  private func refusal(ofCaller request: HTTPRequest, at target: RequestTarget) async -> HTTPResponse? {
    switch target.route {
    case .call(let endpoint): return await refusal(ofCaller: request, target.query, at: endpoint)
    case .credentials, .schema, .management:
      do { try checkOperator(request.head) } catch { return failure(error) }
      return nil
    case .notFound, .malformed, .wrongMethod: return await perform(request, at: target)
    default: return nil
    }
  }

  private func allowingOrigin(of request: HTTPRequest, _ answer: HTTPResponse) -> HTTPResponse {
    var response = answer
    // Accounts are managed by programs; no web page may reach them.
    if let origin = request.head.headers["Origin"], !request.head.path.hasPrefix(AccountRoutes.prefix) {
      response.allow(origin: origin)
    }
    return response
  }

  private func answer(_ request: HTTPRequest) async -> HTTPResponse {
    let target = targets.target(of: request.head)
    if case .file(let file) = request.body, !target.route.isUpload { await assets.remove(upload: file.path) }
    let start = ContinuousClock.now
    let response = await answer(request, at: target)
    metrics.count(target.route, status: response.status, time: ContinuousClock.now - start)
    return response
  }

  private func answer(_ request: HTTPRequest, at target: RequestTarget) async -> HTTPResponse {
    if target.route.isRated {
      do { try rates.admit(address: request.callerAddress, now: configuration.now()) } catch {
        if case .file(let file) = request.body { await assets.remove(upload: file.path) }
        return failure(error)
      }
    }
    return await perform(request, at: target)
  }

  private func perform(_ request: HTTPRequest, at target: RequestTarget) async -> HTTPResponse {
    switch target.route {
    case .call(let endpoint): return await call(endpoint, request, target.query)
    case .account where request.head.path == Self.keyResetPath && request.head.method == "POST":
      return await resetKeys(request)
    case .account: return await accounts.respond(to: request)
    case .schema(let call): return await schema(call, request)
    case .management(let name): return await manage(name, request)
    case .credentials:
      do { try checkOperator(request.head) } catch { return .failure(error) }
      return await credentials.respond(to: request)
    case .upload(let ticket): return await upload(ticket: ticket, request)
    case .download(let name): return await download(name, request.head)
    case .push(let token): return await poll(token)
    case .share(let path): return await sharePage(path, request.head)
    case .health: return await health()
    case .ready: return await ready()
    case .metrics: return metricsAnswer(request)
    case .preflight(let allowed): return .preflight(request.head, allowed: allowed)
    case .wrongMethod(let allowed): return refusal(ofMethod: request.head.method, allowed: allowed)
    case .notFound(let reason): return failure(ServiceError(.notFound, reason))
    case .malformed(let reason): return failure(.badRequest(reason))
    }
  }

  func refusal(ofMethod method: String, allowed: String) -> HTTPResponse {
    var response = failure(.badRequest("the method \(method) is not allowed here; use \(allowed)"))
    response.status = 405
    response.headers.append("Allow", "\(allowed), OPTIONS")
    return response
  }

  package func response(to refusal: HTTPRefusal) -> HTTPResponse {
    var error: ServiceError
    switch refusal.status {
    case 413: error = .badRequest("\(Reason.limitExceeded): \(refusal.reason)")
    case 408, 503, 507: error = ServiceError(.tryAgainLater, refusal.reason, retryAfterSeconds: 2)
    case 500...: error = ServiceError(.internalError, refusal.reason)
    default: error = .badRequest(refusal.reason)
    }
    if refusal.status == 507 { error.retryAfterSeconds = 30 }
    var response = failure(error)
    // Clients know 413 as a full quota, and from where files go.
    response.status = refusal.status == 413 && !refusal.isOfFile ? 400 : refusal.status
    // Who asks is not known here, and a page should read why it was refused.
    response.allow(origin: "*")
    return response
  }

  /// Answers a request as a connection would: the body's limit is kept, and the handler told that the answer has gone.
  package func exchange(_ request: HTTPRequest) async -> HTTPResponse {
    if case .bytes(let bytes) = request.body {
      switch bodyPlan(for: request.head) {
      case .refuse(let response): return response
      case .buffer(let limit) where bytes.count > limit: return response(to: .bodyTooLarge(limit: Int64(limit)))
      case .bufferOnceAdmitted(let limit) where bytes.count > limit:
        return response(to: .bodyTooLarge(limit: Int64(limit)))
      case .bufferOnceAdmitted where bytes.count > HTTPRequest.strangersBodyBytesMax:
        if let response = await refusal(ofCaller: HTTPRequest(head: request.head, clientAddress: request.clientAddress))
        {
          return response
        }
      case .stream(_, let limit, _) where bytes.count > limit: return response(to: .fileTooLarge(limit: Int64(limit)))
      default: break
      }
    }
    let response = await respond(to: request)
    response.whenDone?(!response.isBrokenOff)
    return response
  }

  // MARK: Answers

  func failure(_ error: ServiceError, uuid: String? = nil) -> HTTPResponse {
    let uuid = uuid ?? makeUUID()
    var response = HTTPResponse.json(error.encoded(uuid: uuid), status: error.code.httpStatus, uuid: uuid)
    if let seconds = error.retryAfterSeconds { response.headers.append("Retry-After", String(seconds)) }
    return response
  }

  /// What a caller is told of an error from below the rules; the operator is told more.
  func serviceError(_ error: any Error, uuid: String, during what: String) -> ServiceError {
    switch error {
    case let error as ServiceError: return error
    case StoreError.busy: return ServiceError(.tryAgainLater, "the server is overloaded", retryAfterSeconds: 1)
    case StoreError.closed: return ServiceError(.tryAgainLater, "the server is stopping", retryAfterSeconds: 5)
    case StoreError.full:
      configuration.log("\(what): no space is left for the data; request \(uuid)")
      return ServiceError(.tryAgainLater, "the server's disk is full", retryAfterSeconds: 30)
    case StoreError.diskFailed(let text):
      configuration.log("\(what): \(text); request \(uuid)")
      return ServiceError(.tryAgainLater, "the server's disk fails: nothing was saved", retryAfterSeconds: 60)
    default:
      configuration.log("\(what): \(error); request \(uuid)")
      return ServiceError(.internalError, "internal error; the server's log has details under \(uuid)")
    }
  }

  func makeUUID() -> String {
    var random = configuration.makeRandom()
    return RandomText.uuid(using: &random)
  }

  private func health() async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      _ = try await store.read { try $0.entity(.setting, key: "health") }
      return .json(Array(#"{"status":"ok"}"#.utf8), status: 200, uuid: uuid)
    } catch {
      var error = serviceError(error, uuid: uuid, during: "health check")
      error.code = .tryAgainLater
      return failure(error, uuid: uuid)
    }
  }

  private func metricsAnswer(_ request: HTTPRequest) -> HTTPResponse {
    do throws(ServiceError) { try checkMonitor(request.head) } catch { return failure(error) }
    return HTTPResponse(
      status: 200, headers: HTTPHeaders([("Content-Type", "text/plain; version=0.0.4; charset=utf-8")]),
      body: .bytes(Array(metrics.text().utf8)))
  }

  func urls(for head: HTTPRequestHead) -> SignedURLs {
    SignedURLs(place: configuration.baseURL.map(SignedURLs.Place.base) ?? .host(head.headers["Host"]), secrets: secrets)
  }

  /// Only what can be a host goes into URLs.
  static func base(ofHost host: String?) -> String {
    guard let host, !host.isEmpty, host.utf8.allSatisfy(ByteClass.isPlainHost) else { return "http://127.0.0.1:8787" }
    return "http://\(host)"
  }
}

extension Route {
  fileprivate var isUpload: Bool { if case .upload = self { true } else { false } }
}
