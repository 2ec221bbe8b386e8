import VirgaServer
import VirgaWire

// Saves of many records, as a first upload makes them: what can be done beside the writer is.

extension Front {
  /// From this size on the writer begins before a body is read to its end.
  static func mayBeginEarly(_ body: [UInt8]) -> Bool { body.count >= 32_768 }

  /// Few, so that the writer begins soon; but each part costs both sides a look.
  private static let operationsPerPart = 16

  /// Performs a large save while it is still being read, so that one client's upload keeps two threads at work.
  func runWhileReading(
    _ body: [UInt8], _ context: CallContext, _ encode: @Sendable (Reply) -> [UInt8]
  ) async throws -> [UInt8] {
    let pipe = OperationPipe()
    var begun: (request: RecordsModifyRequest, write: WriteUnderWay<(Reply, Wakes)>)?
    var partCount = 0
    let listener = OperationListener(partCount: Self.operationsPerPart) { [self] operations, request in
      pipe.give(OperationPart(operations))
      partCount += 1
      guard begun == nil else { return }
      var early = context
      early.preparation = .later(pipe)
      begun = (request, store.beginWrite(writing(.recordsModify(request), early)))
    }
    let call: Call
    do { call = try Call(decoding: body, for: .recordsModify, listener: listener) } catch {
      pipe.fail(error)
      throw error
    }
    guard let begun, case .recordsModify(var request) = call else { return try await runLarge(call, context, encode) }
    pipe.give(OperationPart(Array(request.operations.dropFirst(partCount * Self.operationsPerPart))))
    request.operations = []
    // What stands behind the operations may change what is to be done with them.
    if request == begun.request { pipe.finish() } else { pipe.fail(PreparationFailed()) }
    do {
      let (bytes, wakes) = try await begun.write.finish { (encode($0), $1) }
      wake(wakes)
      return bytes
    } catch is PreparationFailed {
      return try await runLarge(call, context, encode, isPrepared: false)
    }
  }

  /// Writes the answer of a call with many items while its commit is under way; it goes out once that is durable.
  func runLarge(
    _ call: Call, _ context: CallContext, _ encode: @Sendable (Reply) -> [UInt8], isPrepared: Bool = true
  ) async throws -> [UInt8] {
    let (bytes, wakes) = try await write(call, context, isPrepared: isPrepared) {
      try await store.write($0, whileCommitting: { (encode($0), $1) })
    }
    wake(wakes)
    return bytes
  }
}
