import TestSupport
import Testing
import VirgaModel

@testable import VirgaWire

/// Damaged messages: a decoder answers with an error or a value, and never stops the process.
@Suite struct MutationTests {
  private static let tokens = [
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u", "\\ud800", "null", "true", "1e999", "-", "-9223372036854775809",
    "99999999999999999999", "0.5", "\u{0}", "\u{ff}", "{\"zoneID\":", "\"type\":\"INT64\"", "\"value\":",
  ]

  private func mutate(_ bytes: [UInt8], _ generator: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    for _ in 0...generator.next(upperBound: UInt64(3)) {
      let position = bytes.isEmpty ? 0 : Int(generator.next(upperBound: UInt64(bytes.count)))
      switch generator.next(upperBound: UInt64(5)) {
      case 0: if !bytes.isEmpty { bytes[position] = UInt8(truncatingIfNeeded: generator.next()) }
      case 1: if !bytes.isEmpty { bytes.remove(at: position) }
      case 2:
        let token = Self.tokens[Int(generator.next(upperBound: UInt64(Self.tokens.count)))]
        bytes.insert(contentsOf: token.utf8, at: position)
      case 3: bytes.removeSubrange(position...)
      default:
        let end = min(bytes.count, position + Int(generator.next(upperBound: UInt64(40))))
        let piece = Array(bytes[position..<end])
        bytes.insert(contentsOf: piece, at: Int(generator.next(upperBound: UInt64(bytes.count + 1))))
      }
    }
    return bytes
  }

  @Test func damagedRequestsNeverTrap() {
    var generator = SplitMix64(seed: 20_261_130)
    let seeds = GoldenTests.calls.map { ($0.1.operation, $0.1.encoded()) }
    var understood = 0
    for round in 0..<20_000 {
      let (operation, bytes) = seeds[round % seeds.count]
      let damaged = mutate(bytes, &generator)
      guard let call = try? Call(decoding: damaged, for: operation) else { continue }
      understood += 1
      // What was understood can be said again, and means the same.
      let again = try? Call(decoding: call.encoded(), for: operation)
      guard case .recordsModify(let request) = call, request.operations.contains(where: { $0.fault != nil }) else {
        if case .subscriptionsModify = call { continue }
        #expect(again == call || again?.normalised == call.normalised, "round \(round)")
        continue
      }
    }
    #expect(understood > 500)
  }

  @Test func damagedAnswersNeverTrap() {
    var generator = SplitMix64(seed: 7)
    let seeds = GoldenTests.replies.map { ($0.1, $0.2.encoded(extensions: true, uuid: "u")) }
    for round in 0..<6_000 {
      let (operation, bytes) = seeds[round % seeds.count]
      let damaged = mutate(bytes, &generator)
      if case .records(let reply)? = try? Reply(decoding: damaged, for: operation) {
        for case .record(let envelope) in reply.records { _ = try? Record(envelope) }
      }
      _ = ServiceError(decoding: damaged, status: 500)
      _ = try? FieldsView(numbersAsStrings: true, downloadURL: { "\($0)\($1)" }).apply(to: damaged)
    }
  }
}

extension Call {
  /// The call with what its text cannot tell twice the same way left out: a value's type is stated when it is written.
  fileprivate var normalised: Call {
    guard case .recordsModify(var request) = self else { return self }
    for index in request.operations.indices {
      for field in request.operations[index].record.fields.indices {
        request.operations[index].record.fields[field].isTagged = true
      }
    }
    return .recordsModify(request)
  }
}
