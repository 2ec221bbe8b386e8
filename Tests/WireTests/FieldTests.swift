import Testing
import VirgaModel

@testable import VirgaWire

@Suite struct FieldTests {
  /// Reads `text` as the field `f` of a record that is being saved.
  private func change(_ text: String) throws -> (change: FieldChange, fault: ServiceError?) {
    let body = #"{"operations":[{"operationType":"create","record":{"recordType":"T","fields":{"f":\#(text)}}}]}"#
    guard case .recordsModify(let request) = try Call(decoding: Array(body.utf8), for: .recordsModify) else {
      throw WireError(.syntax, offset: 0, expected: "records/modify")
    }
    return (request.operations[0].record.fields[0], request.operations[0].fault)
  }

  private static func location() -> Location {
    var location = Location(latitude: 1.5, longitude: -2)
    location.timestamp = Timestamp(milliseconds: 7)
    return location
  }

  @Test(
    arguments: [
      (#"{"value":"a","type":"STRING"}"#, .string("a")),
      (#"{"type":"STRING","value":"a"}"#, .string("a")),
      (#"{"value":3,"type":"INT64"}"#, .int64(3)),
      (#"{"value":"9007199254740993","type":"INT64"}"#, .int64(9_007_199_254_740_993)),
      (#"{"value":true,"type":"INT64"}"#, .int64(1)),
      (#"{"value":false,"type":"BOOLEAN"}"#, .int64(0)),
      (#"{"value":3,"type":"INT"}"#, .int64(3)),
      (#"{"value":3,"type":"DOUBLE"}"#, .double(3)),
      (#"{"value":"2.5","type":"DOUBLE"}"#, .double(2.5)),
      (#"{"value":1700000000123,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(milliseconds: 1_700_000_000_123))),
      (#"{"value":-62135596800000,"type":"TIMESTAMP"}"#, .timestamp(Timestamp(milliseconds: -62_135_596_800_000))),
      (#"{"value":5,"type":"DATETIME"}"#, .timestamp(Timestamp(milliseconds: 5))),
      (#"{"value":"+/8=","type":"BYTES"}"#, .bytes([0xfb, 0xff])),
      (#"{"value":"-_8","type":"BYTE"}"#, .bytes([0xfb, 0xff])),
      (#"{"value":{"recordName":"r"},"type":"REFERENCE"}"#, .reference(Reference(recordName: "r"))),
      (
        #"{"value":{"recordName":"r","action":"DELETE_SELF","zoneID":{"zoneName":"Z"}},"type":"REFERENCE"}"#,
        .reference(
          Reference(recordName: "r", action: .deleteSelf, zone: ZoneID("Z", owner: .defaultOwner)))
      ),
      (
        #"{"value":{"fileChecksum":"c","size":3,"receipt":"r"},"type":"ASSETID"}"#,
        .asset(AssetValue(fileChecksum: "c", size: 3, receipt: "r"))
      ),
      (#"{"value":{"fileChecksum":"c","size":3},"type":"ASSET"}"#, .asset(AssetValue(fileChecksum: "c", size: 3))),
      (#"{"value":{"latitude":1.5,"longitude":-2,"timestamp":7},"type":"LOCATION"}"#, .location(location())),
      (#"{"value":["a","b"],"type":"STRING_LIST"}"#, .stringList(["a", "b"])),
      (#"{"value":[],"type":"STRING_LIST"}"#, .stringList([])),
      (#"{"value":[1,"2"],"type":"INT64_LIST"}"#, .int64List([1, 2])),
      (#"{"value":[1,2.5],"type":"DOUBLE_LIST"}"#, .doubleList([1, 2.5])),
      (#"{"value":[1],"type":"TIMESTAMP_LIST"}"#, .timestampList([Timestamp(milliseconds: 1)])),
      (#"{"value":["AA=="],"type":"BYTES_LIST"}"#, .bytesList([[0]])),
      (#"{"value":[{"recordName":"r"}],"type":"REFERENCE_LIST"}"#, .referenceList([Reference(recordName: "r")])),
      (
        #"{"value":[{"fileChecksum":"c","size":0}],"type":"ASSET_LIST"}"#,
        .assetList([AssetValue(fileChecksum: "c", size: 0)])
      ),
      (
        #"{"value":[{"latitude":0,"longitude":0.5}],"type":"LOCATION_LIST"}"#,
        .locationList([Location(latitude: 0, longitude: 0.5)])
      ),
      (#"{"value":[],"type":"UNKNOWN_LIST"}"#, .emptyList),
      (#"{"value":["a"],"type":"LIST"}"#, .stringList(["a"])),
    ] as [(String, FieldValue)])
  func aStatedTypeIsTaken(_ text: String, _ value: FieldValue) throws {
    let (change, fault) = try change(text)
    #expect(fault == nil)
    #expect(change.field == Field(value))
    #expect(change.isTagged)
  }

  @Test(
    arguments: [
      (#"{"value":"a"}"#, .string("a")),
      (#"{"value":3}"#, .int64(3)),
      (#"{"value":3.0}"#, .double(3)),
      (#"{"value":3e0}"#, .double(3)),
      (#"{"value":9223372036854775808}"#, .double(9_223_372_036_854_775_808)),
      (#"{"value":true}"#, .int64(1)),
      (#"{"value":{"longitude":2,"latitude":1.0}}"#, .location(Location(latitude: 1, longitude: 2))),
      (#"{"value":{"recordName":"r","action":"NONE"}}"#, .reference(Reference(recordName: "r"))),
      (#"{"value":{"size":2,"fileChecksum":"c"}}"#, .asset(AssetValue(fileChecksum: "c", size: 2))),
      (#"{"value":[]}"#, .emptyList),
      (#"{"value":["a"]}"#, .stringList(["a"])),
      (#"{"value":[1,2]}"#, .int64List([1, 2])),
      (#"{"value":[1,2.5]}"#, .doubleList([1, 2.5])),
      (#"{"value":[{"recordName":"r"}]}"#, .referenceList([Reference(recordName: "r")])),
      (#"{"value":"a","type":null,"isEncrypted":null}"#, .string("a")),
    ] as [(String, FieldValue)])
  func anUnstatedTypeIsInferredFromTheForm(_ text: String, _ value: FieldValue) throws {
    let (change, fault) = try change(text)
    #expect(fault == nil)
    #expect(change.field == Field(value))
    #expect(!change.isTagged)
  }

  @Test(arguments: [#"{"value":null}"#, #"{"value":null,"type":"STRING"}"#, "{}", "null", #"{"type":"INT64"}"#])
  func aFieldWithoutValueIsCleared(_ text: String) throws {
    let (change, fault) = try change(text)
    #expect(fault == nil)
    #expect(change.field == nil)
  }

  @Test(arguments: [
    (#"{"value":1,"type":"STRING"}"#, "type STRING"),
    (#"{"value":"x","type":"INT64"}"#, "type INT64"),
    (#"{"value":1.5,"type":"INT64"}"#, "type INT64"),
    (#"{"value":9223372036854775808,"type":"INT64"}"#, "type INT64"),
    (#"{"value":" 1","type":"INT64"}"#, "type INT64"),
    (#"{"value":"nan","type":"DOUBLE"}"#, "type DOUBLE"),
    (#"{"value":1e999,"type":"DOUBLE"}"#, "type DOUBLE"),
    (#"{"value":1700000000000.5,"type":"TIMESTAMP"}"#, "type TIMESTAMP"),
    (#"{"value":"1700000000000","type":"TIMESTAMP"}"#, "type TIMESTAMP"),
    (#"{"value":{"latitude":1,"longitude":1,"timestamp":0.5},"type":"LOCATION"}"#, "type LOCATION"),
    (#"{"value":{"latitude":1},"type":"LOCATION"}"#, "type LOCATION"),
    (#"{"value":"*","type":"BYTES"}"#, "type BYTES"),
    (#"{"value":"r","type":"REFERENCE"}"#, "type REFERENCE"),
    (#"{"value":{"recordName":"r","action":"BURN"},"type":"REFERENCE"}"#, "type REFERENCE"),
    (#"{"value":{"size":1},"type":"ASSETID"}"#, "type ASSETID"),
    (#"{"value":["a",1],"type":"STRING_LIST"}"#, "type STRING_LIST"),
    (#"{"value":"a","type":"STRING_LIST"}"#, "type STRING_LIST"),
    (#"{"value":["a"],"type":"UNKNOWN_LIST"}"#, "type UNKNOWN_LIST"),
    (#"{"value":[["a"]]}"#, "a list of values of one type"),
    (#"{"value":{"a":1}}"#, "a location, a reference or an asset"),
    (#"{"value":1,"type":"COLOR"}"#, "a known type, not COLOR"),
    (#"{"value":"s","isEncrypted":true}"#, "a type next to isEncrypted, such as STRING or ENCRYPTED_BYTES"),
    (#"7"#, "an object"),
  ])
  func aContradictionSpoilsItsOperationAlone(_ text: String, _ expected: String) throws {
    // C87, C92: the answer names the field and what was expected, and the request's other operations go on.
    let (change, fault) = try change(text)
    #expect(fault == .badRequest("Invalid value for field 'f', expected \(expected)."))
    #expect(change.field == nil)
  }

  @Test func encryptedFieldsKeepTheirMark() throws {
    // C92: a stated type and the mark make an encrypted field; bytes have a tag of their own.
    #expect(
      try change(#"{"value":"s","type":"STRING","isEncrypted":true}"#).change.field
        == Field(.string("s"), isEncrypted: true))
    #expect(
      try change(#"{"value":"AA==","type":"ENCRYPTED_BYTES"}"#).change.field == Field(.bytes([0]), isEncrypted: true))
    var fields = Fields()
    fields["b"] = Field(.bytes([0]), isEncrypted: true)
    fields["s"] = Field(.string("s"), isEncrypted: true)
    #expect(
      String(decoding: fields.json, as: UTF8.self)
        == #"{"b":{"value":"AA==","type":"ENCRYPTED_BYTES","isEncrypted":true},"s":{"value":"s","type":"STRING","isEncrypted":true}}"#
    )
    #expect(try Fields(json: fields.json) == fields)
  }

  @Test(arguments: [["a", "a"], ["b", "a", "b"], ["b", "a", "a"], ["a", "c", "b", "c"]])
  func aFieldGivenTwiceIsRefused(_ names: [String]) {
    let fields = "{" + names.map { #""\#($0)":{"value":1}"# }.joined(separator: ",") + "}"
    let body = #"{"operations":[{"operationType":"create","record":{"recordType":"T","fields":\#(fields)}}]}"#
    #expect(throws: ServiceError.self) { try Call(decoding: Array(body.utf8), for: .recordsModify) }
    #expect(throws: WireError.self) { try Fields(json: Array(fields.utf8)) }
  }

  @Test func unknownTypesAreCarriedByAClient() throws {
    let json = Array(
      #"{"a":{"value":{"x":[1,"y"]},"type":"COLOR"},"b":{"value":"t","type":"NEW","isEncrypted":true}}"#.utf8)
    let fields = try Fields(json: json)
    #expect(fields["a"]?.value == .unknown(tag: "COLOR", json: Array(#"{"x":[1,"y"]}"#.utf8)))
    #expect(fields.json == json)
  }

  @Test func timestampsKeepTheirDigits() throws {
    // C87: whole milliseconds come back as they went, also before 1970.
    for milliseconds in [1_700_000_000_123, 0, -1, -62_135_596_800_000, Int64.max, Int64.min] {
      let fields: Fields = ["t": .timestamp(Timestamp(milliseconds: milliseconds))]
      #expect(String(decoding: fields.json, as: UTF8.self) == #"{"t":{"value":\#(milliseconds),"type":"TIMESTAMP"}}"#)
      #expect(try Fields(json: fields.json) == fields)
    }
  }

  @Test func integersKeepTheirDigits() throws {
    // C89
    for number in [9_007_199_254_740_993, Int64.max, Int64.min] {
      let fields: Fields = ["n": .int64(number), "list": .int64List([number, 0])]
      #expect(try Fields(json: fields.json) == fields)
      #expect(String(decoding: fields.json, as: UTF8.self).contains("\(number)"))
    }
  }

  @Test func storedFieldsHoldNoReceiptAndNoURL() throws {
    let fields: Fields = [
      "a": .asset(AssetValue(fileChecksum: "c", size: 1, receipt: "r", downloadURL: "u")),
      "l": .assetList([AssetValue(fileChecksum: "d", size: 2, receipt: "r")]),
    ]
    #expect(
      String(decoding: fields.storedJSON, as: UTF8.self)
        == #"{"a":{"value":{"fileChecksum":"c","size":1},"type":"ASSETID"},"l":{"value":[{"fileChecksum":"d","size":2}],"type":"ASSETID_LIST"}}"#
    )
  }
}

@Suite struct FieldsViewTests {
  private let fields: Fields = [
    "asset": .asset(AssetValue(fileChecksum: "c", size: 5)),
    "d": .double(2),
    "dl": .doubleList([1, 0.5]),
    "n": .int64(.max),
    "nl": .int64List([1]),
    "place": .location(Location(latitude: 1, longitude: 2)),
    "t": .timestamp(Timestamp(milliseconds: 9)),
  ]

  @Test func allIsShownAsStoredByDefault() throws {
    #expect(try FieldsView().apply(to: fields.storedJSON) == fields.storedJSON)
  }

  @Test func onlyDesiredKeysAreShown() throws {
    let shown = try FieldsView(desiredKeys: ["t", "none", "n", "t"]).apply(to: fields.storedJSON)
    #expect(try Fields(json: shown).names == ["n", "t"])
    #expect(try FieldsView(desiredKeys: []).apply(to: fields.storedJSON) == Array("{}".utf8))
  }

  @Test func numbersBecomeTextButTimesAndPlacesDoNot() throws {
    // C89: a client without 64-bit integers asks for text.
    let shown = try FieldsView(desiredKeys: ["d", "dl", "n", "nl", "place", "t"], numbersAsStrings: true)
      .apply(to: fields.storedJSON)
    #expect(
      String(decoding: shown, as: UTF8.self)
        == #"{"d":{"value":"2.0","type":"DOUBLE"},"dl":{"value":["1.0","0.5"],"type":"DOUBLE_LIST"},"#
        + #""n":{"value":"9223372036854775807","type":"INT64"},"nl":{"value":["1"],"type":"INT64_LIST"},"#
        + #""place":{"value":{"latitude":1.0,"longitude":2.0},"type":"LOCATION"},"t":{"value":9,"type":"TIMESTAMP"}}"#)
    #expect(try Fields(json: shown)["n"]?.value == .int64(.max))
  }

  @Test func assetsGetTheirURL() throws {
    let view = FieldsView(desiredKeys: ["asset"], downloadURL: { "https://x/\($0)?\($1)" })
    #expect(
      String(decoding: try view.apply(to: fields.storedJSON), as: UTF8.self)
        == #"{"asset":{"value":{"fileChecksum":"c","size":5,"downloadURL":"https://x/c?5"},"type":"ASSETID"}}"#)
  }
}
