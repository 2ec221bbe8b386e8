import Testing
import VirgaModel
import VirgaWire

/// Limits apply while a body is read: what goes beyond them is passed over, not kept.
@Suite struct ParsingLimitTests {
  private func operations(_ body: String) throws -> [RecordOperation] {
    guard case .recordsModify(let request) = try Call(decoding: Array(body.utf8), for: .recordsModify) else {
      return []
    }
    return request.operations
  }

  private func create(_ members: String) -> String {
    #"{"operations":[{"operationType":"create","record":{"recordType":"N","recordName":"r",\#(members)}}]}"#
  }

  @Test(arguments: [999, 1_000, 1_001, 5_000])
  func fieldsBeyondTheirLimitAreNotKept(count: Int) throws {
    let fields = (0..<count).map { #""f\#(10_000 + $0)":{"value":1}"# }.joined(separator: ",")
    let read = try operations(create("\"fields\":{\(fields)}"))
    #expect(read[0].record.fields.count == min(count, Limits.fieldsPerRecordMax + 1))
  }

  @Test(arguments: [999, 1_000, 1_001, 20_000])
  func unknownMembersBeyondTheirLimitSpoilTheirOperation(count: Int) throws {
    let members = (0..<count).map { #""u\#($0)":1"# }.joined(separator: ",")
    let read = try operations(create(members))
    #expect((read[0].fault != nil) == (count > Limits.fieldsPerRecordMax))
    #expect(read[0].record.unknownMembers.count < 12 * Limits.fieldsPerRecordMax)
  }

  @Test func unknownMembersLongerThanARecordAreNotKept() throws {
    let long = String(repeating: "x", count: 400_000)
    let read = try operations(create((0..<12).map { #""u\#($0)":"\#(long)""# }.joined(separator: ",")))
    #expect(read[0].record.unknownMembers.count < 2 * Limits.recordBytesMax && read[0].fault != nil)
  }

  @Test(arguments: [49_999, 50_000, 50_001, 500_000])
  func elementsOfAListBeyondTheirLimitSpoilTheirOperation(count: Int) throws {
    let list = Array(repeating: "1", count: count).joined(separator: ",")
    let read = try operations(create(#""fields":{"a":{"value":[\#(list)]}}"#))
    #expect((read[0].fault != nil) == (count > Limits.listElementsMax))
    #expect(read[0].fault?.code ?? .badRequest == .badRequest)
  }

  @Test(arguments: [399, 400, 401, 30_000])
  func operationsBeyondTheirLimitAreNotRead(count: Int) throws {
    let operation = #"{"operationType":"create","record":{"recordType":"N"}}"#
    let body = #"{"operations":[\#(Array(repeating: operation, count: count).joined(separator: ","))]}"#
    if count <= Limits.operationsPerRequestMax {
      #expect(try operations(body).count == count)
    } else {
      let error = #expect(throws: ServiceError.self) { try operations(body) }
      #expect(error?.reason.contains("401 given, at most 400 allowed") == true)
    }
  }

  @Test(arguments: [
    ("records", Operation.recordsLookup), ("zones", .zonesLookup), ("operations", .zonesModify),
    ("zones", .changesZone), ("subscriptions", .subscriptionsLookup), ("operations", .subscriptionsModify),
    ("tokens", .assetsUpload), ("shortGUIDs", .recordsResolve), ("lookupInfos", .usersDiscover),
  ])
  func listsOfEveryCallAreBounded(key: String, operation: VirgaWire.Operation) throws {
    let body = "{\"\(key)\":[\(Array(repeating: "{}", count: 60_000).joined(separator: ","))]}"
    #expect(throws: ServiceError.self) { try Call(decoding: Array(body.utf8), for: operation) }
  }
}
