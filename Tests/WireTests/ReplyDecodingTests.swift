import TestSupport
import Testing
import VirgaModel

@testable import VirgaWire

/// What our client must understand of other servers.
@Suite struct ReplyDecodingTests {
  @Test(
    arguments: Corpus.cases(
      own: [
        ("own/zone-changes.json", VirgaWire.Operation.changesZone), ("own/zone-changes-empty.json", .changesZone),
        ("own/lookup-every-type.json", .recordsLookup), ("own/lookup-encrypted.json", .recordsLookup),
        ("own/lookup-asset.json", .recordsLookup), ("own/lookup-two.json", .recordsLookup),
        ("own/query-with-assets.json", .recordsLookup), ("own/query-state.json", .recordsLookup),
        ("own/create-response.json", .recordsModify), ("own/replace-response.json", .recordsModify),
        ("own/delete-response.json", .recordsModify), ("own/database-changes.json", .changesDatabase),
        ("own/zones-list.json", .zonesList), ("own/record-changes.json", .recordsChanges),
        ("own/upload-addresses.json", .assetsUpload),
      ],
      recorded: [
        ("pyicloud/notes/notes_changes_zone_response.json", VirgaWire.Operation.changesZone),
        ("pyicloud/notes/notes_current_sync_token_changes_response.json", .changesZone),
        ("pyicloud/photos_zone_changes_response.json", .changesZone),
        ("pyicloud/notes/notes_lookup_note_response.json", .recordsLookup),
        ("pyicloud/notes/notes_lookup_attachment_response.json", .recordsLookup),
        ("pyicloud/notes/notes_query_folders_response.json", .recordsLookup),
        ("pyicloud/photos_album_create_response.json", .recordsModify),
        ("pyicloud/photos_all_photos_response.json", .recordsLookup),
        ("pyicloud/invites/events_query_response.json", .recordsLookup),
        ("pyicloud/invites/rsvp_query_response.json", .recordsLookup),
        ("pyicloud/photos_browser_mutations/album_add_photo_response.json", .recordsModify),
        ("pyicloud/photos_browser_mutations/album_create_response.json", .recordsModify),
        ("pyicloud/photos_browser_mutations/album_remove_photo_response.json", .recordsModify),
        ("pyicloud/photos_database_changes_response.json", .changesDatabase),
        ("pyicloud/photos_zones_list_response.json", .zonesList),
        ("icloudpd-recordings/zones-list-private.response.json", .zonesList),
        ("icloudpd-recordings/query-master-with-assets.response.json", .recordsLookup),
        ("brightdigit__MistKit/literals/CloudKitServiceFetchChangesTests+Helpers.json", .recordsChanges),
        ("brightdigit__MistKit/literals/CloudKitServiceUploadTests+Helpers.json", .assetsUpload),
      ]))
  func recordedAnswersAreUnderstood(_ path: String, _ operation: VirgaWire.Operation) throws {
    let reply = try Reply(decoding: try Corpus.bytes(path), for: operation)
    let envelopes: [RecordResult] =
      switch reply {
      case .records(let reply): reply.records
      case .recordChanges(let page): page.records
      case .zoneChanges(let results):
        results.flatMap { if case .page(let page) = $0 { page.records } else { [] as [RecordResult] } }
      default: []
      }
    for case .record(let envelope) in envelopes {
      let record = try Record(envelope)
      #expect(try Fields(json: record.fields.json) == record.fields)
    }
  }

  /// What repeats from record to record is written once: each must still say its own zone, user and device.
  @Test func recordsOfSeveralZonesUsersAndDevicesKeepTheirs() throws {
    let zones = [ZoneID("Trips", owner: "_a"), ZoneID("Trips", owner: "_b"), ZoneID("Diary", owner: "_a")]
    // Two spellings of one accented letter are two devices.
    let devices = ["caf\u{e9}", "cafe\u{301}", "\"quoted\"\n"]
    var records: [RecordEnvelope] = []
    for number in 0..<54 {
      let (zone, author, device) = (zones[number % 3], "_user\(number / 3 % 3)", devices[number / 9 % 3])
      let stamp = RecordStamp(time: Timestamp(milliseconds: Int64(number)), user: UserName(author), device: device)
      let created = RecordStamp(time: stamp.time, user: "_user0", device: devices[number % 3])
      var record = RecordEnvelope(
        id: RecordID(RecordName("r\(number)"), in: zone), type: "Trip", tag: ChangeTag(sequence: Int64(number)),
        created: created, modified: stamp, fieldsJSON: Array(#"{"title":{"value":"x","type":"STRING"}}"#.utf8))
      if number % 4 == 0 { record.parent = Reference(recordName: "p", zone: zone) }
      if number % 5 == 0 { record.shortGUID = "guid" }
      records.append(record)
    }
    let bytes = Reply.records(RecordsReply(records: records.map(RecordResult.record))).encoded(
      extensions: true, uuid: "u")
    guard case .records(let reply) = try Reply(decoding: bytes, for: .recordsLookup) else {
      Issue.record("another reply")
      return
    }
    for (record, result) in zip(records, reply.records) {
      guard case .record(let read) = result else {
        Issue.record("\(result) in place of \(record)")
        continue
      }
      #expect(read == record && read.created.device.utf8.elementsEqual(record.created.device.utf8))
    }
    #expect(reply.records.count == records.count)
  }

  @Test func recordsWithoutZoneLieInThatOfTheirPage() throws {
    let body =
      #"{"zones":[{"records":[{"recordName":"a","recordType":"T","fields":{}}],"syncToken":"AQ==","moreComing":null,"#
      + #""zoneID":{"zoneName":"Z","ownerRecordName":"_o"}}]}"#
    guard case .zoneChanges(let results) = try Reply(decoding: Array(body.utf8), for: .changesZone),
      case .page(let page) = results[0], case .record(let record) = page.records[0]
    else {
      Issue.record("no page")
      return
    }
    #expect(record.id == RecordID("a", in: ZoneID("Z", owner: "_o")))
    #expect(!page.moreComing)
  }

  @Test(arguments: [
    #"{"userRecordName":"_u","firstName":null}"#, #"{"users":[{"userRecordName":"_u","nameComponents":{}}]}"#,
  ])
  func theCallerIsFoundInEitherShape(_ body: String) throws {
    #expect(try Reply(decoding: Array(body.utf8), for: .usersCaller) == .user("_u"))
  }

  @Test(arguments: VirgaWire.Operation.allCases)
  func garbageIsAnErrorNotATrap(_ operation: VirgaWire.Operation) {
    for text in ["", "[]", "{\"records\":7}", "<html>", "{\"zones\":[7]}", "null"] where operation != .tokensRegister {
      #expect(throws: WireError.self) { try Reply(decoding: Array(text.utf8), for: operation) }
    }
  }
}
