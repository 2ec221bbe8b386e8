import Testing
import VirgaModel
import VirgaServer
import VirgaWire

/// Values that devices encrypted, as the server treats them.
@Suite struct SealedValueTests {
  private static func sealed(_ scalar: FieldType.Scalar?, isList: Bool = false) -> Field {
    let type = scalar.map { FieldType($0, isList: isList) }
    let head = SealedValueHead(type: type, key: KeyID(bytes: [UInt8](repeating: 7, count: 16)))
    return Field(.bytes(head.bytes + [UInt8](repeating: 1, count: 60)), isEncrypted: true)
  }

  private static func fields(_ fields: KeyValuePairs<FieldName, Field>) -> Fields {
    var all = Fields()
    for (name, field) in fields { all[name] = field }
    return all
  }

  @Test(arguments: [FieldType.Scalar.string, .int64, .double, .timestamp, .bytes, .location])
  func headIsReadBack(scalar: FieldType.Scalar) throws {
    for isList in [false, true] {
      let field = Self.sealed(scalar, isList: isList)
      #expect(field.sealedHead?.type == FieldType(scalar, isList: isList, isEncrypted: true))
      #expect(field.sealedHead?.key == "07070707070707070707070707070707")
    }
    #expect(Field(.bytes([1, 2, 3]), isEncrypted: true).sealedHead == nil)
    guard case .bytes(let bytes) = Self.sealed(scalar).value else { return }
    #expect(Field(.bytes(bytes)).sealedHead == nil && SealedValueHead(Array(bytes.prefix(23))) == nil)
    var fields = Fields()
    fields["f"] = Self.sealed(scalar)
    #expect(String(decoding: fields.json, as: UTF8.self).contains("\"\(SealedValueHead.base64Prefix)"))
  }

  @Test func whatADeviceSealedIsStoredAsItCameAndOutlivesTheServersKey() throws {
    let harness = try Harness.withZone()
    harness.cipher = TestCipher()
    let alone = Self.fields(["secret": Self.sealed(.string), "open": Field(.string("plain"))])
    let saved = try harness.modify(.create("alone", alone)).record!
    #expect(try saved.fields == alone)
    // Beside it a page's value, which the server's key hides.
    var both = alone
    both["other"] = Field(.string("from a page"), isEncrypted: true)
    #expect(try harness.modify(.create("both", both)).record!.fields == both)
    #expect(try harness.record("both")?.fields == both)
    harness.cipher = TestCipher(key: 0x3c)
    #expect(try harness.record("alone")?.fields == alone)
    #expect(throws: StoreError.self) { try harness.record("both") }
  }

  @Test func typeInTheHeadIsHeldToTheSchema() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(
      .create("a", Self.fields(["secret": Self.sealed(.string), "list": Self.sealed(.string, isList: true)])))
    let refused = try harness.modify(.create("b", Self.fields(["secret": Self.sealed(.int64)]))).failure
    #expect(refused?.error.reason.contains("ENCRYPTED_INT64") == true)
    #expect(refused?.error.reason.contains("defined to be: ENCRYPTED_STRING") == true)
    #expect(
      try harness.modify(.create("c", Self.fields(["secret": Field(.string("x"), isEncrypted: true)]))).record != nil)
    #expect(try harness.modify(.create("d", Self.fields(["list": Self.sealed(nil)]))).record != nil)
    #expect(try harness.modify(.create("e", Self.fields(["secret": Self.sealed(nil)]))).failure != nil)
    let bytes = Field(.bytes([1, 2]), isEncrypted: true)
    #expect(try harness.modify(.create("f", Self.fields(["secret": bytes]))).failure != nil)
  }
}
