import Foundation
import TestSupport
import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@testable import VirgaHTTP

/// What Apple's service answers, and what this server answers to the same call about the same data: every key that is there
/// is here, with the same type of JSON. The messages are our own, and recorded ones where they are at hand.
@Suite(.timeLimit(.minutes(2))) struct RecordedMessageTests {
  /// How an exchange is led again.
  enum Way { case lookup, query(zoneWide: Bool), feed, zones, databaseFeed, share }

  struct Recording: CustomTestStringConvertible {
    let path: String
    let way: Way
    var testDescription: String { path }
  }

  static let recordings = Corpus.cases(own: own, recorded: recorded)

  private static let own: [Recording] = [
    .init(path: "own/query-state.json", way: .query(zoneWide: false)),
    .init(path: "own/query-with-assets.json", way: .query(zoneWide: false)),
    .init(path: "own/query-zone-wide.json", way: .query(zoneWide: true)),
    .init(path: "own/zones-list.json", way: .zones),
    .init(path: "own/database-changes.json", way: .databaseFeed),
    .init(path: "own/zone-changes.json", way: .feed),
    .init(path: "own/zone-changes-empty.json", way: .feed),
    .init(path: "own/lookup-every-type.json", way: .lookup),
    .init(path: "own/lookup-encrypted.json", way: .lookup),
    .init(path: "own/lookup-asset.json", way: .lookup),
    .init(path: "own/lookup-two.json", way: .lookup),
    .init(path: "own/resolve-zone-share.json", way: .share),
    .init(path: "own/resolve-record-share.json", way: .share),
  ]

  private static let recorded: [Recording] = [
    .init(path: "icloudpd-recordings/query-indexing-2018.response.json", way: .query(zoneWide: false)),
    .init(path: "icloudpd-recordings/query-indexing-2023.response.json", way: .query(zoneWide: false)),
    .init(path: "icloudpd-recordings/query-master-with-assets.response.json", way: .query(zoneWide: false)),
    .init(path: "icloudpd-recordings/zones-list-private.response.json", way: .zones),
    .init(path: "pyicloud/photos_zones_list_response.json", way: .zones),
    .init(path: "pyicloud/photos_database_changes_response.json", way: .databaseFeed),
    .init(path: "pyicloud/photos_zone_changes_response.json", way: .feed),
    .init(path: "pyicloud/photos_all_photos_response.json", way: .lookup),
    .init(path: "pyicloud/photos_album_membership_response.json", way: .lookup),
    .init(path: "pyicloud/photos_favorites_response.json", way: .lookup),
    .init(path: "pyicloud/photos_missing_counterparts_response.json", way: .lookup),
    .init(path: "pyicloud/photos_recently_added_response.json", way: .lookup),
    .init(path: "pyicloud/photos_video_only_response.json", way: .lookup),
    .init(path: "pyicloud/photos_indexing_not_finished_response.json", way: .lookup),
    .init(path: "pyicloud/notes/notes_lookup_note_response.json", way: .lookup),
    .init(path: "pyicloud/notes/notes_lookup_attachment_response.json", way: .lookup),
    .init(path: "pyicloud/notes/notes_query_folders_response.json", way: .query(zoneWide: false)),
    .init(path: "pyicloud/notes/notes_changes_zone_response.json", way: .feed),
    .init(path: "pyicloud/notes/notes_current_sync_token_changes_response.json", way: .feed),
    .init(path: "pyicloud/invites/events_query_response.json", way: .query(zoneWide: true)),
    .init(path: "pyicloud/invites/rsvp_query_response.json", way: .query(zoneWide: false)),
    .init(path: "pyicloud/invites/resolve_response.json", way: .share),
    .init(path: "BennyKJohnson__OpenCloudKit/sharemetadata.json", way: .share),
  ]

  /// What only Apple's own service says: people's names and addresses, and the position that its own web pages read from
  /// a list of zones, which strict clients of the documented protocol refuse there.
  private static let unanswered: Set<String> = [
    ".nameComponents.givenName", ".nameComponents.familyName", ".lookupInfo.emailAddress", "zones/list.moreComing",
    "zones/list.syncToken", ".potentialMatchList",
  ]

  /// What of the recorded answer is not in ours, or has another type there.
  private static func differences(_ recorded: PlainJSON, _ ours: PlainJSON?, at path: String) -> [String] {
    if unanswered.contains(where: path.hasSuffix) { return [] }
    switch (recorded, ours) {
    case (.null, _): return []
    case (.object(let members), .object):
      return members.flatMap { differences($0.value, ours?[$0.name], at: "\(path).\($0.name)") }
    case (.list(let elements), .list(let others)):
      return elements.enumerated().flatMap { index, element in
        differences(element, index < others.count ? others[index] : nil, at: "\(path)[\(index)]")
      }
    default:
      guard let ours else { return ["\(path) is missing"] }
      return ours.kind == recorded.kind ? [] : ["\(path) is a \(ours.kind), was a \(recorded.kind)"]
    }
  }

  @Test(arguments: recordings)
  func theAnswerHasTheKeysAndTypesOfTheRecordedOne(recording: Recording) async throws {
    let recorded = try PlainJSON(try Corpus.bytes(recording.path))
    let stage = try await Stage(recorded)
    let (ours, theirs, name) = try await stage.answer(to: recorded, by: recording.way)
    #expect(Self.differences(theirs, ours, at: name).isEmpty, "\(ours.json)")
  }

  /// Requests with their answers, as the beginnings of two files' names.
  private static let exchanges = Corpus.cases(
    own: ["create", "replace", "delete"].map { ("own/\($0)-request.json", "own/\($0)-response.json") },
    recorded: ["create", "add_photo", "remove_photo"].map {
      let file = "pyicloud/photos_browser_mutations/album_\($0)"
      return ("\(file)_request.json", "\(file)_response.json")
    })

  @Test(arguments: exchanges)
  func aRecordedRequestIsAnsweredAsItWas(request: String, response: String) async throws {
    let stage = try await Stage(.null)
    try await stage.makeZones(["PrimarySync", "Diary"])
    var text = String(decoding: try Corpus.bytes(request), as: UTF8.self)
    for owner in ["OWNER_RECORD_NAME_001", "_5eed0f0a11ce"] {
      text = text.replacing(owner, with: stage.world.user.rawValue)
    }
    let ours = try await stage.ask(.recordsModify, text, query: "?getCurrentSyncToken=True&remapEnums=true")
    let recorded = try PlainJSON(try Corpus.bytes(response))
    #expect(Self.differences(recorded, ours, at: response).isEmpty, "\(ours.json)")
  }

  /// A server on which the data of a recording are made anew.
  private struct Stage {
    let world: GatewayWorld
    /// The types of the recorded records, by name.
    let types: [String: PlainJSON]

    init(_ recorded: PlainJSON) async throws {
      world = try await GatewayWorld()
      let records = (recorded["zones"]?.elements.first ?? recorded)["records"]?.elements ?? []
      let pairs = records.compactMap { record in
        record["recordName"]?.string.map { ($0, record["recordType"] ?? .null) }
      }
      types = Dictionary(pairs) { first, _ in first }
    }

    func ask(
      _ operation: VirgaWire.Operation, _ body: String, _ scope: DatabaseScope = .private, query: String = ""
    ) async throws -> PlainJSON {
      let answer = try await world.send("POST", world.path(operation, scope: scope) + query, Array(body.utf8))
      try #require(answer.status == 200, "\(operation.rawValue): \(answer.text)")
      return try PlainJSON(answer.body)
    }

    func makeZones(_ names: [String]) async throws {
      let operations = names.map { #"{"operationType":"create","zone":{"zoneID":{"zoneName":"\#($0)"}}}"# }
      _ = try await ask(.zonesModify, #"{"operations":[\#(operations.joined(separator: ","))]}"#)
    }

    /// - Returns: Our answer, the recorded one without what differs by nature, and the name of the call.
    func answer(to recorded: PlainJSON, by way: Way) async throws -> (PlainJSON, PlainJSON, String) {
      switch way {
      case .zones, .databaseFeed:
        try await makeZones(recorded["zones"]?.elements.compactMap { $0["zoneID"]?["zoneName"]?.string } ?? [])
        let isFeed = if case .databaseFeed = way { true } else { false }
        let ours = try await ask(isFeed ? .changesDatabase : .zonesList, "{}")
        // The default zone comes first in a list, and is none of the recorded ones.
        let named = ours["zones"]?.elements.filter { $0["zoneID"]?["zoneType"]?.string != "DEFAULT_ZONE" } ?? []
        let members = ours.members.map { $0.name == "zones" ? .init(name: "zones", value: .list(named)) : $0 }
        return (.object(members), recorded, isFeed ? "changes/database" : "zones/list")
      case .lookup:
        let zone = Self.zone(of: recorded)
        let names = try await save(recorded["records"]?.elements ?? [], in: zone)
        let wanted = names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ",")
        let ours = try await ask(
          .recordsLookup, #"{"zoneID":{"zoneName":"\#(zone)"},"records":[\#(wanted)]}"#,
          query: "?getCurrentSyncToken=true")
        return (ours, recorded, "records/lookup")
      case .query(let zoneWide): return (try await query(recorded, zoneWide: zoneWide), recorded, "records/query")
      case .feed: return (try await feed(recorded), recorded, "changes/zone")
      case .share: return try await share(recorded)
      }
    }

    private static func zone(of recorded: PlainJSON) -> String {
      recorded["records"]?.elements.first?["zoneID"]?["zoneName"]?.string ?? "PrimarySync"
    }

    private func query(_ recorded: PlainJSON, zoneWide: Bool) async throws -> PlainJSON {
      let records = recorded["records"]?.elements ?? []
      let type = try #require(records.first?["recordType"]?.string)
      let schema = #"DEFINE SCHEMA RECORD TYPE \#(type) ("___recordID" REFERENCE QUERYABLE);"#
      let imported = try await world.send(
        "POST", "/virga/1/schema/import?container=\(world.container)", Array(schema.utf8),
        headers: [("X-Virga-Operator", world.front.secrets.operatorToken)])
      try #require(imported.status == 200, "\(imported.text)")
      for record in records {
        _ = try await save([record], in: record["zoneID"]?["zoneName"]?.string ?? "PrimarySync")
      }
      let zone = Self.zone(of: recorded)
      let place = zoneWide ? #""zoneWide":true"# : #""zoneID":{"zoneName":"\#(zone)"}"#
      return try await ask(
        .recordsQuery, #"{"query":{"recordType":"\#(type)"},\#(place)}"#,
        query: zoneWide ? "" : "?remapEnums=True&getCurrentSyncToken=True")
    }

    private func feed(_ recorded: PlainJSON) async throws -> PlainJSON {
      let page = try #require(recorded["zones"]?.elements.first)
      let zone = try #require(page["zoneID"]?["zoneName"]?.string)
      try await makeZones([zone])
      let ask = { (token: String?) in
        try await self.ask(
          .changesZone,
          #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"}\#(token.map { #","syncToken":"\#($0)""# } ?? "")}]}"#)
      }
      let start = try await ask(nil)["zones"]?.elements.first?["syncToken"]?.string
      for record in page["records"]?.elements ?? [] {
        guard record["deleted"] == .flag(true) else {
          _ = try await save([record], in: zone)
          continue
        }
        let name = try #require(record["recordName"]?.string)
        for kind in ["create", "forceDelete"] {
          _ = try await self.ask(
            .recordsModify,
            #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"\#(kind)","#
              + #""record":{"recordName":"\#(name)","recordType":"Gone"}}]}"#)
        }
      }
      return try await ask(start)
    }

    private func share(_ recorded: PlainJSON) async throws -> (PlainJSON, PlainJSON, String) {
      let result = recorded["results"]?.elements.first ?? recorded
      let zone = try #require(result["zoneID"]?["zoneName"]?.string)
      try await makeZones([zone])
      var target = ""
      if let root = result["rootRecord"] {
        let name = try await save([root], in: zone)[0]
        target = #""forRecord":{"recordName":"\#(name)"},"#
      }
      let fields = try await prepared(
        result["share"]?["fields"] ?? .object([]), of: "share", type: "cloudkit.share", zone)
      let saved = try await ask(
        .recordsModify,
        #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"create","record":"#
          + #"{"recordType":"cloudkit.share",\#(target)"publicPermission":"READ_WRITE","fields":\#(fields.json)}}]}"#)
      let guid = try #require(saved["records"]?.elements.first?["shortGUID"]?.string, "\(saved.json)")
      let ours = try await ask(.recordsResolve, #"{"shortGUIDs":[{"value":"\#(guid)"}]}"#, .public)
      return (try #require(ours["results"]?.elements.first), result, "records/resolve")
    }

    /// Saves records like the recorded ones, in their order.
    private func save(_ records: [PlainJSON], in zone: String) async throws -> [String] {
      try await makeZones([zone])
      var names: [String] = []
      for record in records {
        let stated = record["recordName"]?.string ?? "r"
        // The service's own names begin with what is reserved for it.
        let name = stated.hasPrefix("_") ? "r\(stated)" : stated
        let type = record["recordType"]?.string ?? "Recorded"
        let fields = try await prepared(record["fields"] ?? .object([]), of: name, type: type, zone)
        let saved = try await ask(
          .recordsModify,
          #"{"zoneID":{"zoneName":"\#(zone)"},"operations":[{"operationType":"forceReplace","record":"#
            + #"{"recordName":"\#(name)","recordType":"\#(type)","fields":\#(fields.json)}}]}"#)
        try #require(saved["records"]?.elements.first?["serverErrorCode"] == nil, "\(saved.json)")
        names.append(name)
      }
      return names
    }

    /// The fields with assets that are uploaded and references that lead somewhere.
    private func prepared(
      _ fields: PlainJSON, of record: String, type: String, _ zone: String
    ) async throws -> PlainJSON {
      var members: [PlainJSON.Member] = []
      for var field in fields.members {
        var parts = field.value.members
        for index in parts.indices where parts[index].name == "value" {
          let value = parts[index].value
          if value["downloadURL"] != nil {
            parts[index].value = try await upload(field.name, of: record, type: type, zone)
          }
          for target in value.elements + [value] where target["action"]?.string == "VALIDATE" {
            let name = target["recordName"] ?? .null
            let type = name.string.flatMap { types[$0] } ?? .null
            _ = try await save(
              [.object([.init(name: "recordName", value: name), .init(name: "recordType", value: type)])], in: zone)
          }
        }
        field.value = .object(parts)
        members.append(field)
      }
      return .object(members)
    }

    private func upload(
      _ field: String, of record: String, type: String, _ zone: String
    ) async throws -> PlainJSON {
      let tokens = try await ask(
        .assetsUpload,
        #"{"zoneID":{"zoneName":"\#(zone)"},"tokens":[{"recordName":"\#(record)","recordType":"\#(type)","fieldName":"\#(field)"}]}"#
      )
      let url = try #require(tokens["tokens"]?.elements.first?["url"]?.string)
      let answer = try await world.send("POST", try world.target(of: url), Array("bytes of \(field)".utf8))
      return try #require(try PlainJSON(answer.body)["singleFile"])
    }
  }
}
