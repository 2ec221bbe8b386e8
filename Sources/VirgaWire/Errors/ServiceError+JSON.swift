import VirgaModel

extension ServiceError {
  /// The body of an answer that fails as a whole.
  /// - Parameter uuid: Names the request, so that a report can be found in the server's log.
  public func encoded(uuid: String) -> [UInt8] {
    var writer = JSONWriter(capacity: 256)
    writer.beginObject()
    writeMembers(into: &writer, uuid: uuid)
    writer.endObject()
    return writer.bytes
  }

  /// Reads the body of an answer that failed. A body that is none of ours, and a code that is not known, make an
  /// `internalError`, or what the status says, whose reason tells what came.
  public init(decoding bytes: [UInt8], status: Int) {
    var reader = JSONReader(message: bytes)
    var parts = ServiceErrorParts(status: status)
    do {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        if try reader.readNull() { continue }
        if try !parts.read(key, &reader) { try reader.skipValue() }
      }
      try reader.finish()
      self = parts.error ?? Self.told(byStatus: status, parts.reason ?? "HTTP status \(status)")
      requestID = parts.requestID
    } catch {
      self = Self.told(byStatus: status, "HTTP status \(status), without a readable error")
    }
  }

  /// What a status says that came without a code, and so perhaps from something between here and the service.
  private static func told(byStatus status: Int, _ reason: String) -> ServiceError {
    // A proxy has a limit for bodies; a service that is out of space says so with a code.
    if status == 413 { return ServiceError(.badRequest, "\(Reason.limitExceeded): \(reason)") }
    return ServiceError(ServiceErrorParts(status: status).codeByStatus, reason)
  }

  /// Whether an answer's body is an error of the protocol at all.
  ///
  /// The body says so, whatever the status is: proxies change it.
  public static func isOne(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= bytesMax else { return false }
    var reader = JSONReader(message: bytes)
    var isOne = false
    do {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        isOne = isOne || key == "serverErrorCode"
        try reader.skipValue()
      }
      try reader.finish()
    } catch {
      return false
    }
    return isOne
  }

  /// The status that an answer stands for: an error that came as a success has that of its code.
  public static func status(_ status: Int, of body: [UInt8]) -> Int {
    guard (200..<300).contains(status), isOne(body) else { return status }
    return ServiceError(decoding: body, status: 500).code.httpStatus
  }

  /// No error is longer, so pages of records need not be read twice.
  private static let bytesMax = 64 << 10

  /// Writes the members of an error into a dictionary that may name an item.
  func writeMembers(into writer: inout JSONWriter, uuid: String) {
    writer.member("uuid", uuid)
    writer.member("serverErrorCode", code.rawValue)
    writer.member("reason", reason)
    if let retryAfterSeconds { writer.member("retryAfter", Int64(retryAfterSeconds)) }
    if let redirectURL {
      writer.member("redirectURL", redirectURL)
      // An older client reads this spelling.
      writer.member("redirectUrl", redirectURL)
    }
  }
}

/// The members of an error, as they come among those of the item that it belongs to.
struct ServiceErrorParts: Sendable {
  /// The status of the whole answer: what an error without a known code is judged by.
  var status = 500
  var code: String?
  var reason: String?
  var retryAfterSeconds: Int?
  var redirectURL: String?
  var requestID: String?

  init(status: Int = 500) { self.status = status }

  /// Reads the member if it is one of an error's; answers whether it was.
  mutating func read(_ key: String, _ reader: inout JSONReader) throws(WireError) -> Bool {
    switch key {
    case "serverErrorCode": code = try reader.readString()
    case "reason": reason = try reader.readString()
    case "retryAfter":
      // Whole seconds by the reference; a fraction is rounded up, so that no client comes too early.
      let seconds = max(0, min(try reader.readDouble(), 1e9))
      retryAfterSeconds = Int(seconds) + (Double(Int(seconds)) < seconds ? 1 : 0)
    case "uuid": requestID = try reader.readString()
    case "redirectURL", "redirectUrl": redirectURL = try reader.readString()
    default: return false
    }
    return true
  }

  /// The error; `nil` when no code was given.
  var error: ServiceError? {
    guard let code else { return nil }
    let known = ServerErrorCode(rawValue: code)
    var error = ServiceError(known ?? codeByStatus, known == nil ? "\(code): \(reason ?? "")" : reason ?? "")
    error.retryAfterSeconds = retryAfterSeconds
    error.redirectURL = redirectURL
    error.requestID = requestID
    return error
  }

  var codeByStatus: ServerErrorCode {
    switch status {
    case 401: .authenticationFailed
    case 403: .accessDenied
    case 404: .notFound
    case 409: .conflict
    case 412: .validatingReferenceError
    case 413: .quotaExceeded
    case 421: .authenticationRequired
    case 429: .throttled
    case 502, 503, 504: .tryAgainLater
    case 400..<500: .badRequest
    default: .internalError
    }
  }
}

extension JSONWriter {
  /// Writes the failure of one zone of an answer.
  mutating func failure(of zone: ZoneSelector, _ error: ServiceError, _ style: ReplyStyle) {
    beginObject()
    key("zoneID")
    zone.id(of: style.owner).writeWhole(into: &self)
    error.writeMembers(into: &self, uuid: style.uuid)
    endObject()
  }
}
