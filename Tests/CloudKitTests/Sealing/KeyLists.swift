import Foundation
import VirgaAuth
import VirgaServer

@testable import VirgaCloudKit

extension TestServer {
  /// Knows no device any more, as after a backup that is older than all of them.
  func forgetDevices() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      store.write({ transaction in
        for account in try transaction.entities(.account, owner: "accounts") {
          for entity in try transaction.entities(.device, owner: account.key) {
            try transaction.removeEntity(.device, key: entity.key)
          }
        }
      }) { continuation.resume(with: $0) }
    }
  }

  /// Drops what devices left for each other: all of it, or the keys sealed to single devices.
  func forgetKeys(_ part: String = "") async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      store.write({ transaction in
        let accounts = try transaction.entities(.account, owner: "accounts").map(\.key)
        for account in accounts {
          for entity in try transaction.entities(.sealedKey, owner: account)
          where entity.key.dropFirst(account.count + 1).hasPrefix(part) {
            try transaction.removeEntity(.sealedKey, key: entity.key)
          }
        }
      }) { continuation.resume(with: $0) }
    }
  }
}

extension TestDevice {
  /// Takes the account's keys away; what is returned gives them back.
  @discardableResult
  func forgetKeys() throws -> @Sendable () throws -> Void {
    let files = try FileManager.default.contentsOfDirectory(atPath: home.path).filter { $0.hasSuffix(".keys") }
    let kept = files.map { (home.path + "/" + $0, FileManager.default.contents(atPath: home.path + "/" + $0)) }
    for (path, _) in kept { try FileManager.default.removeItem(atPath: path) }
    return {
      for (path, data) in kept {
        _ = FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600])
      }
    }
  }
}

extension TestNetwork {
  /// Changes lists of keys on their way to the device, as a server could that turned against its users.
  func replaceKeyItems(_ body: (@Sendable ([KeyMessages.Item]) -> [KeyMessages.Item])?) {
    guard let body else { return replaceAnswers(nil) }
    replaceAnswers { target, answer in
      guard target.hasSuffix("/keys"),
        var items = try? JSONDecoder().decode(KeyMessages.Items.self, from: Data(answer.body))
      else { return answer }
      items.items = body(items.items)
      var answer = answer
      if let data = try? JSONEncoder().encode(items) { answer.body = Array(data) }
      return answer
    }
  }
}
