import Synchronization
import VirgaModel
import VirgaServer
import VirgaWire

extension Gateway {
  /// Says whether the server can save: a row of the store durably, and a byte of an upload.
  func ready() async -> HTTPResponse {
    let uuid = makeUUID()
    do {
      try await readiness.gate.alone {
        let now = configuration.now()
        if readiness.isFresh(now) { return }
        try await store.write { transaction in
          try transaction.put(
            Entity(.setting, key: "ready", value: Array(String(now.milliseconds).utf8)))
        }
        do throws(HTTPRefusal) { try UploadFile(in: assets.uploads).append(([0] as [UInt8]).span) } catch {
          throw error == .storageFull ? StoreError.full(assets.uploads) : StoreError.diskFailed(assets.uploads)
        }
        readiness.note(now)
      }
      return .json(Array(#"{"status":"ready"}"#.utf8), status: 200, uuid: uuid)
    } catch {
      var error = serviceError(error, uuid: uuid, during: "readiness check")
      error.code = .tryAgainLater
      return failure(error, uuid: uuid)
    }
  }
}
