import TestSupport
import Testing
import VirgaModel

@testable import VirgaWire

/// A save copies the fields that it does not name. That must give what reading all of them, changing some and writing all
/// of them would give.
@Suite struct FieldPatchTests {
  private static let texts = ["", "a", "Regen \u{1F327}", "\"\\\n\u{1}", #"","isEncrypted":true}"#, "\u{e9}"]

  private static func value(_ random: inout SplitMix64) -> FieldValue {
    let text = texts.randomElement(using: &random)!
    let number = Int64.random(in: -9...9, using: &random)
    return switch Int.random(in: 0..<10, using: &random) {
    case 0: .int64(number)
    case 1: .double(Double(number) / 3)
    case 2: .timestamp(Timestamp(milliseconds: number))
    case 3: .bytes(Array(text.utf8))
    case 4: .stringList([text, text])
    case 5: .emptyList
    case 6: .location(Location(latitude: 1, longitude: Double(number)))
    case 7: .reference(Reference(recordName: RecordName(text), action: .deleteSelf))
    case 8: .asset(AssetValue(fileChecksum: text, size: 7))
    default: .string(text)
    }
  }

  private static func field(_ random: inout SplitMix64) -> Field {
    Field(value(&random), isEncrypted: Int.random(in: 0..<6, using: &random) == 0)
  }

  /// Some of the names, in any order.
  private static func names(_ random: inout SplitMix64) -> [FieldName] {
    let all: [FieldName] = ["A", "B1", "a", "aa", "ab", "b", "b_", "title", "titles", "z"]
    return Array(all.shuffled(using: &random).prefix(Int.random(in: 0...all.count, using: &random)))
  }

  @Test(arguments: 0..<400) func aPatchIsWhatChangingEachFieldWouldGive(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var stored = Fields()
    for name in Self.names(&random) { stored[name] = Self.field(&random) }
    let changes = Self.names(&random).map { name in
      FieldChange(name, Bool.random(using: &random) ? Self.field(&random) : nil)
    }
    let patch = FieldPatch(changes)
    for kept in [stored, Fields()] {
      var changed = kept
      for change in changes { changed[change.name] = change.field }
      let result = try patch.applied(to: kept.storedJSON)
      let text = String(decoding: result.json, as: UTF8.self)
      #expect(text == String(decoding: changed.storedJSON, as: UTF8.self), "seed \(seed)")
      #expect(result.count == changed.count && result.hasEncrypted == changed.contains { $0.field.isEncrypted })
    }
    #expect(try patch.fields.json == patch.applied(to: Array("{}".utf8)).json)
    #expect(try patch.fields.count == patch.applied(to: Array("{}".utf8)).count)
  }

  @Test func whatBelongsToTheRequestAloneIsNotStored() {
    var asset = AssetValue(fileChecksum: "c", size: 1)
    asset.receipt = "r"
    asset.downloadURL = "u"
    let zone = ZoneID("Diary", owner: .defaultOwner)
    let patch = FieldPatch([
      FieldChange("to", Field(.reference(Reference(recordName: "x", action: .none, zone: zone)))),
      FieldChange("file", Field(.asset(asset))), FieldChange("gone", nil),
    ])
    #expect(
      String(decoding: patch.json, as: UTF8.self)
        == #"{"file":{"value":{"fileChecksum":"c","size":1},"type":"ASSETID"},"#
        + #""to":{"value":{"recordName":"x","action":"NONE"},"type":"REFERENCE"}}"#)
  }

  @Test(arguments: ["", "{", "[]", #"{"a":}"#, #"{"a":{"value":1}"#]) func damageIsFound(_ json: String) {
    #expect(throws: WireError.self) { try FieldPatch([]).applied(to: Array(json.utf8)) }
  }
}
