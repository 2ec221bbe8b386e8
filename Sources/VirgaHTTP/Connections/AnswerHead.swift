/// Appends the status line and the fields of an answer, and says what follows them.
/// The connection alone says how the body is framed: such fields of the handler's are left out.
@discardableResult
func appendHead(of answer: HTTPResponse, for context: AnswerContext, date: [UInt8], to head: inout [UInt8])
  -> AnswerBody
{
  var length: Int64
  var body: AnswerBody
  switch answer.body {
  case .bytes(let bytes):
    length = Int64(bytes.count)
    body = bytes.isEmpty ? .none : .bytes(bytes)
  case .file(let path, let offset, let fileLength):
    length = fileLength
    body = .file(path: path, offset: offset, length: fileLength)
  }
  let isBodiless = answer.status == 204 || answer.status == 304
  if isBodiless || context.isHead { body = .none }

  head.append(text: context.isVersion10 ? "HTTP/1.0 " : "HTTP/1.1 ")
  appendDecimal(Int64(answer.status), to: &head)
  head.append(0x20)
  head.append(text: reasonPhrase(answer.status))
  head.append(text: "\r\n")
  for field in answer.headers.fields {
    if isWrittenByConnection(field.name) {
      // An answer to HEAD has no body to count, so the handler may say what GET would send.
      if context.isHead, length == 0, field.name.equalsIgnoringASCIICase("Content-Length"),
        let value = Int64(field.value), value >= 0
      {
        length = value
      }
      continue
    }
    head.append(text: field.name)
    head.append(text: ": ")
    head.append(text: field.value)
    head.append(text: "\r\n")
  }
  if !isBodiless {
    head.append(text: "Content-Length: ")
    appendDecimal(length, to: &head)
    head.append(text: "\r\n")
  }
  head.append(text: "Date: ")
  head.append(contentsOf: date)
  if !context.keepsAlive || answer.closesConnection {
    head.append(text: "\r\nConnection: close\r\n\r\n")
  } else if context.isVersion10 {
    head.append(text: "\r\nConnection: keep-alive\r\n\r\n")
  } else {
    head.append(text: "\r\n\r\n")
  }
  return body
}

/// Whether an answer can be written as it is: a line end in a field would let whoever chose the value add fields.
func isWritable(_ answer: HTTPResponse) -> Bool {
  guard (200...999).contains(answer.status) else { return false }
  if case .file(_, let offset, let length) = answer.body, offset < 0 || length < 0 { return false }
  return answer.headers.fields.allSatisfy { name, value in
    let name = name.utf8Span.span
    return !name.isEmpty && name.allSatisfy(ByteClass.isToken) && value.utf8Span.span.isFieldValue
  }
}

private func isWrittenByConnection(_ name: String) -> Bool {
  switch name.utf8.count {
  case 4: name.equalsIgnoringASCIICase("Date")
  case 10: name.equalsIgnoringASCIICase("HTTPConnection")
  case 14: name.equalsIgnoringASCIICase("Content-Length")
  case 17: name.equalsIgnoringASCIICase("Transfer-Encoding")
  default: false
  }
}

func appendDecimal(_ number: Int64, to bytes: inout [UInt8]) {
  var divisor: Int64 = 1
  var rest = max(0, number)
  while rest / divisor >= 10 { divisor *= 10 }
  while divisor > 0 {
    bytes.append(0x30 + UInt8(truncatingIfNeeded: rest / divisor))
    rest %= divisor
    divisor /= 10
  }
}

extension [UInt8] {
  /// Appends the bytes of a text. Appending its view would go through them one by one.
  fileprivate mutating func append(text: String) {
    let isDone: Void? = text.utf8.withContiguousStorageIfAvailable { append(contentsOf: $0) }
    if isDone == nil { append(contentsOf: text.utf8) }
  }
}

private func reasonPhrase(_ status: Int) -> String {
  switch status {
  case 200: "OK"
  case 201: "Created"
  case 202: "Accepted"
  case 204: "No Content"
  case 206: "Partial Content"
  case 301: "Moved Permanently"
  case 302: "Found"
  case 303: "See Other"
  case 304: "Not Modified"
  case 307: "Temporary Redirect"
  case 308: "Permanent Redirect"
  case 400: "Bad Request"
  case 401: "Unauthorized"
  case 403: "Forbidden"
  case 404: "Not Found"
  case 405: "Method Not Allowed"
  case 406: "Not Acceptable"
  case 408: "Request Timeout"
  case 409: "Conflict"
  case 410: "Gone"
  case 411: "Length Required"
  case 412: "Precondition Failed"
  case 413: "Content Too Large"
  case 414: "URI Too Long"
  case 415: "Unsupported Media Type"
  case 416: "Range Not Satisfiable"
  case 417: "Expectation Failed"
  case 421: "Misdirected Request"
  case 422: "Unprocessable Content"
  case 428: "Precondition Required"
  case 429: "Too Many Requests"
  case 431: "Request Header Fields Too Large"
  case 500: "Internal Server Error"
  case 501: "Not Implemented"
  case 503: "Service Unavailable"
  case 505: "HTTP Version Not Supported"
  case 507: "Insufficient Storage"
  default: "Status"
  }
}
