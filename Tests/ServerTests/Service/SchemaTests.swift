import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceSchemaTests {
  private func save(
    _ harness: Harness, _ value: FieldValue, tagged: Bool = true, encrypted: Bool = false,
    in place: Harness.Where = .own
  ) throws -> RecordResult {
    let change = FieldChange("f", Field(value, isEncrypted: encrypted), isTagged: tagged)
    let zone = place.scope == .public ? ZoneSelector() : Harness.diary
    let operation = RecordOperation(.forceReplace, RecordChange(name: "r", type: "T", fields: [change]))
    return try harness.modify(operation, zone: zone, in: place)
  }

  @Test func theFirstSaveFixesAFieldsTypeForTheWholeContainer() throws {
    let harness = try Harness.withZone()
    _ = try save(harness, .string("x"))
    let refused = try save(harness, .int64(1))
    #expect(
      refused.failure?.error
        == .badRequest("invalid attempt to set value type INT64 for field 'f' for type 'T', defined to be: STRING"))
    #expect(try save(harness, .stringList(["x"])).code == .badRequest)
    #expect(try harness.record("r")?.value("f") == .string("x"))
    let open = try save(harness, .int64(1), in: .open)
    #expect(open.code == .badRequest)
    #expect(try harness.modify(.create("other", ["f": .int64(1)], type: "U")).code == nil)
  }

  @Test func twoTypesInOneBatchAreSettledByTheFirst() throws {
    let harness = try Harness.withZone()
    let batch: [RecordOperation] = [.create("a", ["f": .int64(1)]), .create("b", ["f": .string("x")])]
    #expect(try harness.modify(batch, atomic: false).map(\.code) == [nil, .badRequest])
    // What was not written fixes nothing.
    let failing: [RecordOperation] = [.create("c", ["g": .int64(1)]), .create("a")]
    #expect(try harness.modify(failing).map(\.code) == [.atomicError, .conflict])
    #expect(try harness.modify(.create("d", ["g": .string("x")])).code == nil)
  }

  @Test(arguments: [
    (FieldValue.double(0.5), FieldValue.int64(3), FieldValue.double(3) as FieldValue?),
    (.double(0.5), .int64(.max), nil),
    (.double(0.5), .string("3"), nil),
    (.bytes([1]), .string("aGk="), .bytes(Array("hi".utf8))),
    (.bytes([1]), .string("no base64!"), nil),
    (.int64(1), .double(3), nil),
    (.string("x"), .int64(3), nil),
    (.timestamp(Timestamp(milliseconds: 1)), .int64(3), nil),
    (.doubleList([0.5]), .int64List([1, 2]), .doubleList([1, 2])),
    (.doubleList([0.5]), .int64List([1, .max]), nil),
    (.bytesList([[1]]), .stringList(["aGk="]), .bytesList([Array("hi".utf8)])),
    (.stringList(["x"]), .emptyList, .stringList([])),
    (.timestampList([]), .emptyList, .timestampList([])),
    (.string("x"), .emptyList, nil),
  ])
  func anUntaggedValueIsCoercedOnlyWhereNothingIsLost(known: FieldValue, given: FieldValue, stored: FieldValue?) throws
  {
    let harness = try Harness.withZone()
    _ = try save(harness, known)
    let result = try save(harness, given, tagged: false)
    #expect(try result.record?.value("f") == stored)
    #expect((result.code == .badRequest) == (stored == nil))
    // A stated type is never changed.
    if given != .emptyList { #expect(try save(harness, given).code == .badRequest) }
  }

  @Test func aBareNumberIsNoTimestamp() throws {
    // C87
    let harness = try Harness.withZone()
    let moment = FieldValue.timestamp(Timestamp(milliseconds: 1_700_000_000_123))
    #expect(try save(harness, moment).record?.value("f") == moment)
    let refused = try save(harness, .int64(1_700_000_000_123), tagged: false).failure?.error
    #expect(refused?.code == .badRequest)
    #expect(refused?.reason.hasPrefix("Invalid value, expected type TIMESTAMP.") == true)
    let old = FieldValue.timestamp(Timestamp(milliseconds: -62_135_596_800_000))
    #expect(try save(harness, old).record?.value("f") == old)
  }

  /// As Apple's own web app saves it, and Apple's service takes it (docs/decisions/untagged-values.md).
  @Test func bareBase64IsReadAsEncryptedBytesWhereTheSchemaHasThem() throws {
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    _ = try save(harness, .bytes([1]), encrypted: true)
    let saved = try save(harness, .string("aGk="), tagged: false).record
    #expect(saved?.json == #"{"f":{"value":"aGk=","type":"ENCRYPTED_BYTES","isEncrypted":true}}"#)
    #expect(try harness.record("r") == saved)
    for wrong: FieldValue in [.string("no base64!"), .int64(1), .stringList(["aGk="])] {
      let error = try save(harness, wrong, tagged: false).failure?.error
      #expect(error?.reason.hasSuffix(#"give it "type":"ENCRYPTED_BYTES""#) == true, "\(error?.reason ?? "")")
    }
    // Other encrypted types are stated.
    let text = try Harness.withZone()
    _ = try save(text, .string("x"), encrypted: true)
    let refused = try save(text, .string("aGk="), tagged: false).failure?.error
    #expect(
      refused?.reason.hasSuffix(#"give it "type":"STRING","isEncrypted":true"#) == true, "\(refused?.reason ?? "")")
  }

  @Test func aRefusedBareValueIsToldTheTagToSend() throws {
    for (known, given, tag) in [
      (.timestamp(Timestamp(milliseconds: 1)), .int64(3), "TIMESTAMP"),
      (.timestampList([Timestamp(milliseconds: 1)]), .int64List([3]), "TIMESTAMP_LIST"),
      (.int64(1), .double(3.5), "INT64"),
      (.string("x"), .int64(3), "STRING"), (.location(Location(latitude: 1, longitude: 2)), .string("x"), "LOCATION"),
    ] as [(FieldValue, FieldValue, String)] {
      let harness = try Harness.withZone()
      _ = try save(harness, known)
      let error = try save(harness, given, tagged: false).failure?.error
      #expect(error?.code == .badRequest)
      #expect(error?.reason.hasPrefix("Invalid value, expected type \(tag).") == true)
      #expect(error?.reason.hasSuffix(#"give it "type":"\#(tag)""#) == true, "\(error?.reason ?? "")")
    }
  }

  @Test(arguments: [9_007_199_254_740_993, Int64.max, Int64.min])
  func integersKeepAllTheirDigits(number: Int64) throws {
    // C89
    let harness = try Harness.withZone()
    #expect(try save(harness, .int64(number)).record?.json == #"{"f":{"value":\#(number),"type":"INT64"}}"#)
    let request = RecordsLookupRequest(records: [.init("r")], zone: Harness.diary)
    var asText = request
    asText.numbersAsStrings = true
    guard case .records(let reply) = try harness.call(.recordsLookup(asText)) else { return #expect(Bool(false)) }
    #expect(reply.records[0].record?.json == #"{"f":{"value":"\#(number)","type":"INT64"}}"#)
  }

  @Test func anEmptyListOfNoTypeFixesNoType() throws {
    let harness = try Harness.withZone()
    #expect(try save(harness, .emptyList).record?.value("f") == .emptyList)
    #expect(try save(harness, .int64(1)).code == nil)
  }

  @Test func encryptedValuesStateTheirTypeAndStayOutOfThePublicDatabase() throws {
    // C92
    let harness = try Harness.withZone()
    let saved = try save(harness, .string("secret"), encrypted: true).record
    #expect(saved?.json == #"{"f":{"value":"secret","type":"STRING","isEncrypted":true}}"#)
    #expect(try harness.record("r") == saved)
    #expect(try save(harness, .string("x"), tagged: false, encrypted: true).code == .badRequest)
    #expect(
      try save(harness, .bytes([1]), encrypted: true).failure?.error
        == .badRequest(
          "invalid attempt to set value type ENCRYPTED_BYTES for field 'f' for type 'T', "
            + "defined to be: ENCRYPTED_STRING"))
    #expect(try save(harness, .string("plain")).code == .badRequest)
    #expect(
      try save(harness, .string("x"), encrypted: true, in: .open).failure?.error
        == .badRequest("encrypted fields are not supported in the public database"))
    for value: FieldValue in [.reference(Reference(recordName: "r")), .asset(AssetValue(fileChecksum: "c", size: 1))] {
      #expect(try save(Harness.withZone(), value, encrypted: true).code == .badRequest)
    }
    let plain = try Harness.withZone()
    _ = try save(plain, .string("x"))
    #expect(
      try save(plain, .string("x"), encrypted: true).failure?.error.reason.hasPrefix(
        "Attempt to save encrypted data in non encrypted field type") == true)
  }

  @Test func theStoreDoesNotHoldThePlainTextOfEncryptedFields() throws {
    // C92
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    var fields: Fields = ["open": .string("visible text"), "pages": .int64(3)]
    fields["secret"] = Field(.string("hidden \"text\""), isEncrypted: true)
    fields["list"] = Field(.int64List([1, 2]), isEncrypted: true)
    let saved = try harness.modify(.create("r", fields)).record!
    #expect(try saved.fields == fields)
    #expect(try harness.record("r") == saved)
    #expect(try harness.page().records[0].record == saved)
    func stored() throws -> String {
      try harness.write { transaction in
        let key = DatabaseKey(container: "iCloud.test", environment: .development, owner: "_alice")
        let zone = try transaction.zone("Diary", in: key)!
        return String(decoding: try transaction.record("r", in: zone)!.fieldsJSON, as: UTF8.self)
      }
    }
    #expect(try stored().contains("visible text"))
    #expect(try !stored().contains("hidden") && !stored().contains("[1,2]"))

    let merged = try harness.modify(.update("r", tag: saved.tag, ["pages": .int64(4)])).record!
    fields["pages"] = Field(.int64(4))
    #expect(try merged.fields == fields)
    let stale = try harness.modify(.update("r", tag: saved.tag)).failure
    #expect(stale?.serverRecord == merged && stale?.ancestorRecord == saved)

    harness.cipher = TestCipher(key: 0x3c)
    #expect(throws: StoreError.self) { try harness.record("r") }
    harness.cipher = nil
    #expect(throws: StoreError.self) { try harness.record("r") }
    #expect(try harness.modify(.create("plain", ["open": .string("x")])).record != nil)
  }

  @Test func productionAddsNothingUntilTheSchemaIsDeployed() throws {
    // C47
    let harness = try Harness.withZone()
    let production = Harness.Where(environment: .production)
    _ = try harness.zones(.zonesModify(.init(operations: [.init(.create, Harness.diary)])), in: production)
    let unknownType = try save(harness, .string("x"), in: production).failure?.error
    #expect(unknownType?.code == .notFound)
    #expect(unknownType?.reason.hasPrefix("\(Reason.schemaRefusal) T in production schema") == true)
    #expect(unknownType?.reason.hasSuffix("virga schema deploy --container iCloud.test") == true)

    _ = try save(harness, .string("x"))
    #expect(try harness.write { try Service().deploySchema(of: "iCloud.test", in: $0) }.isApplied)
    #expect(try save(harness, .string("x"), in: production).record != nil)
    let field = FieldChange("g", Field(.int64(1)))
    let unknownField = try harness.modify(
      RecordOperation(.forceUpdate, RecordChange(name: "r", fields: [field])), in: production
    ).failure?.error
    #expect(unknownField?.reason.hasPrefix("\(Reason.schemaFieldRefusal) 'g' of type 'T' in production") == true)
    #expect(unknownField?.reason.hasSuffix("virga schema deploy --container iCloud.test") == true)
    let cleared = RecordOperation(.forceUpdate, RecordChange(name: "r", fields: [.init("g", nil)]))
    #expect(try harness.modify(cleared, in: production).code == nil)
  }

  @Test func namesOfTypesAndFieldsFollowTheirRules() throws {
    let harness = try Harness.withZone()
    for type in ["", "1a", "_a", "a b", "é", "Users", "cloudkit.share", "cloudKit.share", "CloudKit.x"] {
      #expect(try harness.modify(.create("r", type: RecordType(type))).code == .badRequest, "\(type)")
    }
    for field in ["", "1a", "_a", "a b", "a.b", "é", String(repeating: "f", count: 256)] {
      #expect(try harness.modify(.create("r", [FieldName(field): .int64(1)])).code == .badRequest, "\(field)")
    }
    let longest = FieldName(String(repeating: "f", count: 255))
    #expect(try harness.modify(.create("r", [longest: .int64(1)], type: "My.Type_1")).code == nil)
  }

  @Test func numbersThatAreNotFiniteAreRefused() throws {
    for value: FieldValue in [.double(.infinity), .double(.nan), .doubleList([1, -.infinity])] {
      #expect(try save(Harness.withZone(), value).code == .badRequest)
    }
  }
}
