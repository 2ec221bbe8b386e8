import Foundation
import Testing
import VirgaAuth
import VirgaHTTP
import VirgaModel

/// What follows from the key in a server's folder.
@Suite struct ServerSecretsTests {
  let secrets = ServerSecrets(key: [UInt8](repeating: 7, count: 32))
  let folder: String

  init() throws {
    folder = FileManager.default.temporaryDirectory.path + "/virga-secrets-\(UUID().uuidString)"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: NSNumber(value: 0o700)])
  }

  @Test func userNamesDifferByAccountAndContainerAndStayTheSame() {
    let name = secrets.userName(of: "one", in: "iCloud.a")
    #expect(name == secrets.userName(of: "one", in: "iCloud.a"))
    #expect(name != secrets.userName(of: "two", in: "iCloud.a"))
    #expect(name != secrets.userName(of: "one", in: "iCloud.b"))
    #expect(name != ServerSecrets.random().userName(of: "one", in: "iCloud.a"))
    #expect(name.rawValue.wholeMatch(of: /_[0-9a-f]{32}/) != nil)
  }

  @Test func signaturesHoldForOneTextAndPurpose() {
    let signature = secrets.signature(of: "text", for: .session)
    #expect(secrets.verifies(signature, of: "text", for: .session))
    #expect(!secrets.verifies(signature, of: "text", for: .uploadURL))
    #expect(!secrets.verifies(signature, of: "texts", for: .session))
    #expect(!secrets.verifies(signature + "A", of: "text", for: .session))
    #expect(!secrets.verifies("", of: "text", for: .session))
    #expect(signature.wholeMatch(of: /[A-Za-z0-9_\-]{43}/) != nil)
  }

  @Test func serverKeyIsMadeOnceAndKept() throws {
    let first = try ServerSecrets.load(from: folder)
    #expect(try ServerSecrets.load(from: folder).serverID == first.serverID)
    #expect(try ServerSecrets.read(from: folder)?.serverID == first.serverID)
    #expect(try ServerSecrets.read(from: folder + "/none")?.serverID == nil)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder + "/secret.key")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func damagedOrOpenServerKeyIsRefused() throws {
    let file = SecureFile(path: folder + "/secret.key")
    try file.write([1, 2, 3])
    #expect(throws: SecureFileError.damaged(path: file.path, reason: "has 3 bytes instead of 32")) {
      try ServerSecrets.load(from: folder)
    }
    try file.write([UInt8](repeating: 1, count: 32))
    try FileManager.default.setAttributes([.posixPermissions: NSNumber(value: 0o640)], ofItemAtPath: file.path)
    #expect(throws: SecureFileError.tooOpen(path: file.path, mode: 0o640)) { try ServerSecrets.load(from: folder) }
  }
}
