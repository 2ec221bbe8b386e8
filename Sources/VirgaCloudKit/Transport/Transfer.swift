import CCurl
import Foundation
import Synchronization

/// One request under way in libcurl.
final class Transfer: @unchecked Sendable {
  // Unchecked because it is made by one task and then used by the transport's thread alone, handed over in the loop's
  // mutex; the flag is atomic.
  let request: TransportRequest
  let isCancelled = Atomic<Bool>(false)
  var continuation: CheckedContinuation<TransportResponse, any Error>?
  private(set) var easy: UnsafeMutableRawPointer?

  private var status = 0
  private var headers: [(name: String, value: String)] = []
  private var body: [UInt8] = []
  private var sent: Int64 = 0
  private var received: Int64 = 0
  private var isSinkReady = false
  /// What went wrong with a file, or with a limit of ours; libcurl then only says that a callback ended the transfer.
  private var fault: TransportError?
  private var headerList: UnsafeMutablePointer<curl_slist>?

  /// Bytes of a file that libcurl takes or gives at once.
  private static let streamBufferBytes = 1 << 18

  private let certificateFile: String?
  /// What libcurl says of a failure besides its code.
  private let explanation = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init(_ request: TransportRequest, certificateFile: String?) {
    self.request = request
    self.certificateFile = certificateFile
    explanation.pointee = 0
  }

  deinit {
    curl_slist_free_all(headerList)
    explanation.deallocate()
  }

  func finish(_ outcome: Result<TransportResponse, TransportError>) {
    easy = nil
    continuation?.resume(with: outcome.mapError { $0 as any Error })
    continuation = nil
  }

  // MARK: Setting up

  func prepare(_ easy: UnsafeMutableRawPointer) {
    self.easy = easy
    let this = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    ccurl_set_string(easy, CURLOPT_URL, request.url)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, explanation)
    if let certificateFile { ccurl_set_string(easy, CURLOPT_CAINFO, certificateFile) }
    // A proxy from the environment knows no way to this very machine.
    if isLoopback { ccurl_set_string(easy, CURLOPT_PROXY, "") }
    ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, min(10_000, Int(request.timeout.wholeMilliseconds)))
    // Servers close connections that stand idle, ours after 75 seconds; one that is about to be closed is not used.
    ccurl_set_long(easy, CURLOPT_MAXAGE_CONN, 60)
    ccurl_set_function(easy, CURLOPT_HEADERFUNCTION, Self.onHeader)
    ccurl_set_pointer(easy, CURLOPT_HEADERDATA, this)
    ccurl_set_function(easy, CURLOPT_WRITEFUNCTION, Self.onBytes)
    ccurl_set_pointer(easy, CURLOPT_WRITEDATA, this)
    prepareBody(easy, this)
    prepareHeaders(easy)
    if isStreamed {
      ccurl_set_long(easy, CURLOPT_BUFFERSIZE, Self.streamBufferBytes)
      ccurl_set_long(easy, CURLOPT_UPLOAD_BUFFERSIZE, Self.streamBufferBytes)
      // libcurl's clock for transfers that stand still counts whole seconds.
      ccurl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, 1)
      ccurl_set_long(easy, CURLOPT_LOW_SPEED_TIME, max(1, Int(request.timeout.wholeMilliseconds / 1_000)))
    } else {
      ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, max(1, Int(request.timeout.wholeMilliseconds)))
    }
  }

  private func prepareBody(_ easy: UnsafeMutableRawPointer, _ this: UnsafeMutableRawPointer) {
    let size: Int64
    switch request.body {
    case .bytes(let bytes): size = Int64(bytes.count)
    case .file(let source):
      source.rewind()
      size = source.size
    }
    guard request.method != "GET" else {
      ccurl_set_long(easy, CURLOPT_HTTPGET, 1)
      return
    }
    ccurl_set_long(easy, CURLOPT_POST, 1)
    if request.method != "POST" { ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method) }
    ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(size))
    if request.isRepeatable, case .bytes(let bytes) = request.body {
      bytes.withUnsafeBytes { bytes in
        // libcurl copies as many bytes as the size that was set before.
        let none: [UInt8] = [0]
        none.withUnsafeBytes { none in
          let start = bytes.baseAddress ?? none.baseAddress
          ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: start))
        }
      }
    } else {
      // Without a function to rewind the body, libcurl cannot repeat a request on its own when the connection breaks
      // after it was sent. It may have taken effect, so repeating it is the caller's decision.
      ccurl_set_function(easy, CURLOPT_READFUNCTION, Self.onRead)
      ccurl_set_pointer(easy, CURLOPT_READDATA, this)
    }
  }

  private func prepareHeaders(_ easy: UnsafeMutableRawPointer) {
    // Without this, libcurl waits a second for "100 Continue" before it sends a body.
    headerList = curl_slist_append(nil, "Expect:")
    for header in request.headers {
      headerList = curl_slist_append(headerList, "\(header.name): \(header.value)") ?? headerList
    }
    ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, headerList)
  }

  private var isStreamed: Bool {
    if case .file = request.body { return true }
    if case .file = request.sink { return true }
    return false
  }

  private var isLoopback: Bool {
    ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains { request.url.hasPrefix($0) }
  }

  // MARK: Callbacks, on the transport's thread

  private static let onHeader: ccurl_data_function = { bytes, size, count, this in
    guard let bytes, let this else { return 0 }
    let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
    Unmanaged<Transfer>.fromOpaque(this).takeUnretainedValue().takeHeader(String(decoding: line, as: UTF8.self))
    return size * count
  }

  private static let onBytes: ccurl_data_function = { bytes, size, count, this in
    guard let bytes, let this else { return 0 }
    let data = UnsafeRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<Transfer>.fromOpaque(this).takeUnretainedValue().take(data) ? data.count : 0
  }

  private static let onRead: ccurl_data_function = { bytes, size, count, this in
    guard let bytes, let this else { return Int(CURL_READFUNC_ABORT) }
    let buffer = UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    return Unmanaged<Transfer>.fromOpaque(this).takeUnretainedValue().fill(buffer) ?? Int(CURL_READFUNC_ABORT)
  }

  private func takeHeader(_ line: String) {
    if line.hasPrefix("HTTP/") {
      // A new head: an interim answer came before.
      headers = []
      status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    } else if let colon = line.firstIndex(of: ":") {
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
      headers.append((name: String(line[..<colon]), value: value))
    }
  }

  private func take(_ data: UnsafeRawBufferPointer) -> Bool {
    received += Int64(data.count)
    if case .file(let sink) = request.sink, status == 200 || status == 206 {
      guard isSinkReady || beginSink(sink), sink.write(data) else {
        fault = sink.fault
        return false
      }
    } else {
      guard body.count + data.count <= CurlTransport.responseBytesMax else {
        fault = .tooLarge
        return false
      }
      body.append(contentsOf: data)
    }
    request.progress?(sent, received)
    return true
  }

  /// Done with the first bytes: only then the head is whole.
  private func beginSink(_ sink: FileSink) -> Bool {
    func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
    isSinkReady = sink.begin(status: status, contentRange: header("content-range"), version: header("etag"))
    return isSinkReady
  }

  private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count: Int
    switch request.body {
    case .bytes(let bytes):
      count = min(buffer.count, bytes.count - Int(sent))
      buffer.copyBytes(from: bytes[Int(sent)..<Int(sent) + count])
    case .file(let source):
      guard let read = source.read(into: buffer) else {
        fault = .file("the file being sent changed")
        return nil
      }
      count = read
    }
    sent += Int64(count)
    request.progress?(sent, received)
    return count
  }

  // MARK: The outcome

  func outcome(_ result: CURLcode, _ easy: UnsafeMutableRawPointer) -> Result<TransportResponse, TransportError> {
    if let fault { return .failure(fault) }
    switch result {
    case CURLE_OK: return .success(TransportResponse(status: status, headers: headers, body: body))
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
      return .failure(.unreachable(text(of: result)))
    case CURLE_SSL_CACERT_BADFILE:
      return .failure(.insecure(.certificateFileUnusable(certificateFile ?? "")))
    case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
      return .failure(.insecure(.untrusted(detail(of: result))))
    case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_USE_SSL_FAILED:
      return .failure(.insecure(.failed(detail(of: result))))
    case CURLE_SEND_FAIL_REWIND: return .failure(.responseLost("the connection was closed"))
    default: return .failure(wasSent(easy) ? .responseLost(text(of: result)) : .failed(text(of: result)))
    }
  }

  /// Whether the head and the body of the request went out whole.
  private func wasSent(_ easy: UnsafeMutableRawPointer) -> Bool {
    var bytes = 0
    guard ccurl_get_long(easy, CURLINFO_REQUEST_SIZE, &bytes) == CURLE_OK, bytes > 0 else { return false }
    switch request.body {
    case .bytes(let body): return request.isRepeatable || request.method == "GET" || sent == Int64(body.count)
    case .file(let source): return sent == source.size
    }
  }

  /// As libcurl puts it for this connection: which certificate, and why not.
  private func detail(of result: CURLcode) -> String {
    let detail = String(cString: explanation)
    return detail.isEmpty ? text(of: result) : detail
  }

  private func text(of result: CURLcode) -> String { String(cString: curl_easy_strerror(result)) }
}
