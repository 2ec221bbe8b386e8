import Testing
import VirgaModel
import VirgaWire

@testable import VirgaAuth

@Suite struct SignedRequestTests {
  private let note = #"{"query":{"recordType":"Note"}}"#
  private let query = "/database/1/iCloud.com.example.App/development/public/records/query"

  /// The protocol's published test vectors.
  private func vectorKey() throws -> VerifyingKey {
    try VerifyingKey(
      pem: """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4uGO8Fzwpr16BLqSQX4HjPzgmmF9
        7QRZhVCgVcsY0R7v+Opm4ULzAY1ZM91LevpBOjaABgdKk+WbbpS72I3dXw==
        -----END PUBLIC KEY-----

        """)
  }

  @Test(arguments: [
    (
      #"{"query":{"recordType":"Note"}}"#,
      "/database/1/iCloud.com.example.App/development/public/records/query",
      "MEYCIQCX+Ud15c/ct7kmNvGhgPWz8fJd+qVNID1ObJiCUrSYKwIhAI1RJPMLIbUaYHNhy0jilrunrNSLgCcSZlEhapbiMIIU"
    ),
    (
      "", "/database/1/iCloud.com.example.App/development/public/zones/list",
      "MEUCIQCAH1wO0buUvVs99UhlfWGwbGV3Zq3Weaw+pkZm4ThMAwIgD/NB1vTf33Dh77X/KvA3nXFe/Db4JbHUXiJjx70g9q8="
    ),
  ])
  func vectorsVerify(body: String, target: String, signature: String) throws {
    let key = try vectorKey()
    let request = SignedRequest(date: "2026-01-02T03:04:05Z", body: Array(body.utf8), target: target)
    #expect(request.isSigned(by: key, signature: signature))
    var other = request
    other.body.append(0x20)
    #expect(!other.isSigned(by: key, signature: signature), "another body")
    other = request
    other.target += "x"
    #expect(!other.isSigned(by: key, signature: signature), "another path")
    other = request
    other.date = "2026-01-02T03:04:05.0Z"
    #expect(!other.isSigned(by: key, signature: signature), "the same moment in another spelling")
    #expect(!request.isSigned(by: try SigningKey.generate().publicKey, signature: signature), "another key")
    for broken in ["", "x", "AAAA", String(signature.dropLast(4)), signature + "AAAA", signature.lowercased()] {
      #expect(!request.isSigned(by: key, signature: broken), "\(broken)")
    }
  }

  /// What clients sign in place of the documented text.
  @Test(arguments: [
    (":", "/a%20b/c", "/a%20b/c"), ("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:", "/a/c", "/a/c"),
    (":", "/a%20b/c?x=1", "/a b/c"), (":", "/a%20b/c?x=%31", "/a%20b/c?x=%31"), (":", "/a%20b/c?x=1", "/a b/c?x=1"),
  ])
  func everyFormThatClientsSignIsAccepted(hash: String, target: String, path: String) throws {
    let key = try SigningKey.generate()
    let request = SignedRequest(date: "2026-01-02T03:04:05Z", body: [], target: target)
    let signature = try key.signature(of: Array("\(request.date):\(hash)\(path)".utf8))
    #expect(request.isSigned(by: key.publicKey, signature: CanonicalBase64.encode(signature)))
  }

  @Test func emptyHashIsForEmptyBodiesOnly() throws {
    let key = try SigningKey.generate()
    let request = SignedRequest(date: "d", body: [0x7b, 0x7d], target: "/a")
    let signature = CanonicalBase64.encode(try key.signature(of: Array("d::/a".utf8)))
    #expect(!request.isSigned(by: key.publicKey, signature: signature))
  }

  @Test func rawSignaturesAreAccepted() throws {
    let key = try SigningKey.generate()
    let request = SignedRequest(date: "2026-01-02T03:04:05Z", body: Array(note.utf8), target: query)
    // Among so many there are r and s with leading zeros and with their first bit set.
    for _ in 0..<300 {
      let der = try key.signature(
        of: request.message(hash: CanonicalBase64.encode(SHA256.digest(of: request.body)), path: query))
      let raw = try #require(rawForm(der))
      #expect(request.isSigned(by: key.publicKey, signature: CanonicalBase64.encode(raw)))
    }
    #expect(!request.isSigned(by: key.publicKey, signature: CanonicalBase64.encode([UInt8](repeating: 0, count: 64))))
  }

  private func rawForm(_ der: [UInt8]) -> [UInt8]? {
    guard der.count > 8, der[0] == 0x30, der[2] == 0x02 else { return nil }
    let first = Int(der[3])
    let r = der[4..<(4 + first)]
    let s = der[(6 + first)...]
    func padded(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
      let digits = Array(bytes.drop { $0 == 0 })
      return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }
    return padded(r) + padded(s)
  }

  @Test func signedHeadersVerify() throws {
    let key = try SigningKey.generate()
    let now = Timestamp(milliseconds: 1_453_760_143_999)
    for body in ["", note] {
      let headers = try SignedRequest.headers(
        keyID: "id", key: key, target: query + "?remapEnums=true", body: Array(body.utf8), now: now)
      #expect(
        headers.map(\.name) == [
          "X-Apple-CloudKit-Request-KeyID", "X-Apple-CloudKit-Request-ISO8601Date",
          "X-Apple-CloudKit-Request-SignatureV1",
        ])
      #expect(headers[1].value == "2016-01-25T22:15:43Z")
      let request = SignedRequest(date: headers[1].value, body: Array(body.utf8), target: query)
      #expect(request.isSigned(by: key.publicKey, signature: headers[2].value))
      #expect(request.isTimely(now: now))
    }
  }

  @Test(
    arguments: [
      (-600_001, false), (-600_000, true), (0, true), (600_000, true), (600_001, false),
    ] as [(Int64, Bool)])
  func dateIsGoodTenMinutesEitherWay(milliseconds: Int64, isGood: Bool) {
    let moment = Timestamp(milliseconds: 1_767_323_045_000)
    let request = SignedRequest(date: "2026-01-02T03:04:05Z", body: [], target: "/")
    #expect(request.isTimely(now: Timestamp(milliseconds: moment.milliseconds + milliseconds)) == isGood)
  }

  // MARK: Dates

  @Test(
    arguments: [
      ("2016-01-25T22:15:43Z", 1_453_760_143_000), ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:59:59Z", -1_000),
      ("2024-02-29T12:00:00Z", 1_709_208_000_000), ("2000-03-01T00:00:00Z", 951_868_800_000),
      ("2016-01-25T22:15:43.5Z", 1_453_760_143_500), ("2016-01-25T22:15:43.123456789Z", 1_453_760_143_123),
      ("2016-01-25T23:15:43+01:00", 1_453_760_143_000), ("2016-01-25T17:15:43-0500", 1_453_760_143_000),
    ] as [(String, Int64)])
  func datesAreRead(text: String, milliseconds: Int64) {
    #expect(ISO8601.timestamp(text) == Timestamp(milliseconds: milliseconds))
  }

  @Test(arguments: [
    "", "now", "2016-01-25", "2016-01-25T22:15:43", "2016-13-25T22:15:43Z", "2016-01-25T24:15:43Z",
    "2016-01-25T22:15:43Zx", "2016-01-25T22:15:43.Z", "16-01-25T22:15:43Z", "2016-01-25 22:15:43Z",
    "2016-01-25T22:15:43+1:00", "٢٠١٦-01-25T22:15:43Z",
  ])
  func otherTextsAreNoDates(text: String) { #expect(ISO8601.timestamp(text) == nil) }

  @Test func datesComeBackAsTheyWereWritten() {
    for day in stride(from: Int64(-700_000), to: 2_000_000, by: 61) {
      let moment = Timestamp(milliseconds: (day * 86_400 + 12_345) * 1_000)
      let text = ISO8601.text(moment)
      #expect(text.utf8.count == 20 && ISO8601.timestamp(text) == moment, "\(text)")
    }
  }
}
