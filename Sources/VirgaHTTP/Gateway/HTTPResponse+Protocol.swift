extension HTTPResponse {
  /// An answer in the protocol's form.
  static func json(_ body: [UInt8], status: Int, uuid: String) -> HTTPResponse {
    HTTPResponse(
      status: status,
      headers: HTTPHeaders([("Content-Type", "application/json; charset=UTF-8"), ("X-Apple-Request-UUID", uuid)]),
      body: .bytes(body))
  }

  func with(_ headers: [(name: String, value: String)]) -> HTTPResponse {
    var response = self
    for header in headers { response.headers.append(header.name, header.value) }
    return response
  }

  /// Lets a page of that origin read the answer and the headers that it needs, such as the next web-auth token. A browser
  /// refuses an answer that says so twice, so the first word counts.
  mutating func allow(origin: String) {
    guard headers["Access-Control-Allow-Origin"] == nil else { return }
    headers.append("Access-Control-Allow-Origin", origin)
    if !headers.fields.contains(where: { $0 == ("Vary", "Origin") }) { headers.append("Vary", "Origin") }
    headers.append(
      "Access-Control-Expose-Headers",
      "X-Apple-CloudKit-Web-Auth-Token, X-Apple-CloudKit-Session, X-Apple-Request-UUID, Retry-After, Content-Range, ETag"
    )
  }

  /// Answers whether a page may send what it asks for: it may, since no answer depends on cookies.
  static func preflight(_ head: HTTPRequestHead, allowed: String) -> HTTPResponse {
    var headers = HTTPHeaders([
      ("Allow", "\(allowed), OPTIONS"),
      // A page may send what it likes: a method that the path does not know is refused to everybody.
      ("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS, PUT"),
      ("Access-Control-Allow-Headers", head.headers["Access-Control-Request-Headers"] ?? "Content-Type"),
      ("Access-Control-Max-Age", "86400"),
    ])
    if head.headers["Origin"] == nil { headers.append("Access-Control-Allow-Origin", "*") }
    return HTTPResponse(status: 204, headers: headers)
  }
}
