import Testing
import VirgaAuth
import VirgaModel

@Suite struct CryptoTests {
  /// FIPS 180-4 examples.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ])
  func digestsMatchThePublishedExamples(message: String, digest: String) {
    #expect(Hex.encode(SHA256.digest(of: Array(message.utf8))) == digest)
  }

  /// A context that is copied would make the same secret twice if a generator held its words itself.
  @Test func copiesOfAGeneratorNeverRepeatAWord() {
    var original = SystemRandom()
    _ = original.next()
    var copy = original
    let words = (0..<1_000).flatMap { _ in [original.next(), copy.next()] }
    #expect(Set(words).count == words.count)
  }

  @Test func threadsNeverGetTheSameWord() async {
    let words = await withTaskGroup(of: [UInt64].self) { group in
      for _ in 0..<8 {
        group.addTask {
          var random = SystemRandom()
          return (0..<2_000).map { _ in random.next() }
        }
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    #expect(Set(words).count == 16_000)
  }

  @Test func digestInPiecesEqualsDigestAtOnce() {
    let bytes = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    var hash = SHA256()
    for start in stride(from: 0, to: bytes.count, by: 777) {
      hash.update(Array(bytes[start..<min(start + 777, bytes.count)]))
    }
    #expect(hash.finish() == SHA256.digest(of: bytes))
    #expect(hash.finish() == SHA256.digest(of: []), "the value starts anew after finish")
  }

  /// RFC 4231, cases 1, 2 and 6.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0b, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
  ])
  func authenticationCodesMatchThePublishedExamples(key: [UInt8], message: String, code: String) {
    #expect(Hex.encode(HMACSHA256.code(for: Array(message.utf8), key: key)) == code)
  }

  @Test(
    arguments: [
      ([], ""), ([0], "AA=="), ([0xfb, 0xff], "+/8="), (Array("abc".utf8), "YWJj"),
    ] as [([UInt8], String)])
  func base64WritesAndReadsTheStandardAlphabet(bytes: [UInt8], text: String) {
    #expect(CanonicalBase64.encode(bytes) == text)
    #expect(CanonicalBase64.decode(text) == bytes)
    #expect(CanonicalBase64.decodeFromURL(CanonicalBase64.encodeForURL(bytes)) == bytes)
  }

  @Test(arguments: ["A", "AA", "AA=", "AB==", "AA==\n", "A A=", "AA==AA==", "äöü"])
  func base64RefusesOtherSpellings(text: String) { #expect(CanonicalBase64.decode(text) == nil) }

  @Test(arguments: ["A", "AA==", "AB", "+/8", "A-_?"])
  func base64ForURLsRefusesOtherSpellings(text: String) { #expect(CanonicalBase64.decodeFromURL(text) == nil) }

  @Test func hexReadsBothCasesAndNothingElse() {
    #expect(Hex.decode("00fFaB") == [0, 0xff, 0xab])
    #expect(Hex.decode("0") == nil)
    #expect(Hex.decode("0g") == nil)
    #expect(Hex.decode("") == [])
  }

  @Test func constantTimeComparisonIsEquality() {
    #expect(equalsInConstantTime([1, 2], [1, 2]))
    #expect(!equalsInConstantTime([1, 2], [1, 3]))
    #expect(!equalsInConstantTime([1, 2], [1, 2, 3]))
    #expect(equalsInConstantTime([UInt8](), []))
  }

  @Test func signatureIsVerifiedByItsKeyOverItsMessageOnly() throws {
    let key = try SigningKey.generate()
    let other = try SigningKey.generate()
    let signature = try key.signature(of: Array("one".utf8))
    #expect(key.publicKey.verifies(signature, of: Array("one".utf8)))
    #expect(!key.publicKey.verifies(signature, of: Array("two".utf8)))
    #expect(!other.publicKey.verifies(signature, of: Array("one".utf8)))
    #expect(!key.publicKey.verifies([], of: Array("one".utf8)))
    #expect(!key.publicKey.verifies(signature.dropLast(), of: Array("one".utf8)))
  }

  @Test func keysSurviveTheirTextForms() throws {
    let key = try SigningKey.generate()
    let again = try SigningKey(pem: try key.pem())
    #expect(again.publicKey.der == key.publicKey.der)
    #expect(again.publicKey.verifies(try key.signature(of: [1]), of: [1]))
    #expect(try VerifyingKey(der: key.publicKey.der).der == key.publicKey.der)
    #expect(try VerifyingKey(pem: try key.publicKey.pem()).der == key.publicKey.der)
  }

  @Test func unreadableKeysAndOtherCurvesAreRefused() throws {
    let der = try SigningKey.generate().publicKey.der
    #expect(throws: KeyError.unreadable) { try VerifyingKey(der: []) }
    #expect(throws: KeyError.unreadable) { try VerifyingKey(der: der + [0]) }
    #expect(throws: KeyError.unreadable) { try VerifyingKey(der: der.dropLast()) }
    #expect(throws: KeyError.unreadable) { try SigningKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n") }
    let ed25519 =
      "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"
    #expect(throws: KeyError.notP256) { try VerifyingKey(pem: ed25519) }
  }

  static let publishedKey = """
    -----BEGIN PUBLIC KEY-----
    MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4uGO8Fzwpr16BLqSQX4HjPzgmmF9
    7QRZhVCgVcsY0R7v+Opm4ULzAY1ZM91LevpBOjaABgdKk+WbbpS72I3dXw==
    -----END PUBLIC KEY-----
    """

  /// Messages as a server-to-server client signs them.
  @Test(arguments: [
    (
      "2026-01-02T03:04:05Z:pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=:"
        + "/database/1/iCloud.com.example.App/development/public/records/query",
      "MEYCIQCX+Ud15c/ct7kmNvGhgPWz8fJd+qVNID1ObJiCUrSYKwIhAI1RJPMLIbUaYHNhy0jilrunrNSLgCcSZlEhapbiMIIU"
    ),
    (
      "2026-01-02T03:04:05Z::/database/1/iCloud.com.example.App/development/public/zones/list",
      "MEUCIQCAH1wO0buUvVs99UhlfWGwbGV3Zq3Weaw+pkZm4ThMAwIgD/NB1vTf33Dh77X/KvA3nXFe/Db4JbHUXiJjx70g9q8="
    ),
  ])
  func serverToServerSignaturesVerify(message: String, signature: String) throws {
    let key = try VerifyingKey(pem: Self.publishedKey)
    let bytes = try #require(CanonicalBase64.decode(signature))
    #expect(key.verifies(bytes, of: Array(message.utf8)))
    #expect(!key.verifies(bytes, of: Array((message + " ").utf8)))
  }

  @Test func bodyDigestOfAServerToServerRequestIsBase64OfSHA256() {
    let body = Array(#"{"query":{"recordType":"Note"}}"#.utf8)
    #expect(CanonicalBase64.encode(SHA256.digest(of: body)) == "pHA+lOPYejRxN4Iswc9kV8pFFX5glteEnI4oFVFBk9M=")
  }

  @Test func fingerprintIsTheBeginningOfTheDigestInGroups() throws {
    let key = try VerifyingKey(pem: Self.publishedKey)
    #expect(key.fingerprint.replacing(" ", with: "") == key.digest.prefix(20))
    #expect(key.fingerprint.count == 24)
  }
}
