import Testing
import VirgaAuth
import VirgaHTTP

@Suite struct FieldKeyTests {
  private let key = ServerSecrets.random().fieldKey
  private let place = Array("iCloud.test\ndevelopment\n_a\nDiary\nr\nsecret".utf8)

  @Test(arguments: [0, 1, 16, 100_000]) func whatIsSealedOpensAgain(count: Int) {
    let plain = [UInt8](repeating: 7, count: count)
    let sealed = key.seal(plain, for: place)
    #expect(sealed.count == count + 28)
    #expect(key.open(sealed, for: place) == plain)
    #expect(key.seal(plain, for: place) != sealed)
  }

  @Test func nothingElseOpens() {
    let sealed = key.seal(Array("hidden".utf8), for: place)
    #expect(key.open(sealed, for: place + [0]) == nil)
    #expect(ServerSecrets.random().fieldKey.open(sealed, for: place) == nil)
    for index in sealed.indices {
      var changed = sealed
      changed[index] ^= 1
      #expect(key.open(changed, for: place) == nil, "byte \(index)")
    }
    for count in 0..<sealed.count { #expect(key.open(Array(sealed.prefix(count)), for: place) == nil) }
  }
}
