import TestSupport
import VirgaWire

/// The protocol's tables, as far as they say what an answer may look like.
enum ProtocolTables {
  // MARK: Common dictionaries

  static let zoneID = Shape.keys([
    ("zoneName", .text), ("ownerRecordName", .text), ("zoneType", .word(["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"])),
  ])
  private static let zone = Shape.keys(
    [("zoneID", zoneID)], may: [("syncToken", .base64), ("atomic", .flag), ("deleted", .flag)])
  private static let stamp = Shape.keys([("timestamp", .integer), ("userRecordName", .text), ("deviceID", .text)])
  private static let pointer = Shape.keys([("recordName", .text)], may: [("zoneID", zoneID)])
  private static let reference = Shape.keys(
    [("recordName", .text), ("action", .word(["NONE", "DELETE_SELF", "VALIDATE"]))], may: [("zoneID", zoneID)])
  private static let location = Shape.keys(
    [("latitude", .number), ("longitude", .number)],
    may: [
      ("horizontalAccuracy", .number), ("verticalAccuracy", .number), ("altitude", .number), ("speed", .number),
      ("course", .number), ("timestamp", .integer),
    ])
  private static let assetKeys: [(String, Shape)] = [("fileChecksum", .base64), ("size", .integer)]
  private static let assetMore: [(String, Shape)] = [("wrappingKey", .base64), ("referenceChecksum", .base64)]
  private static let asset = Shape.keys(assetKeys + [("downloadURL", .text)], may: assetMore)

  // MARK: Values

  private static let scalars: [String: Shape] = [
    "STRING": .text, "INT64": .integer, "DOUBLE": .number, "TIMESTAMP": .integer, "BYTES": .base64,
    "ENCRYPTED_BYTES": .base64, "REFERENCE": reference, "ASSETID": asset, "LOCATION": location,
  ]

  /// - Parameter numbersAsStrings: Numbers, but not times, come as text then.
  static func fields(numbersAsStrings: Bool = false) -> Shape {
    .map(
      .depending { field in
        let tag = field["type"]?.string ?? ""
        let isList = tag.hasSuffix("_LIST")
        let name = isList ? String(tag.dropLast(5)) : tag
        var shape = scalars[name]
        if numbersAsStrings && (name == "INT64" || name == "DOUBLE") { shape = .text }
        if tag == "UNKNOWN_LIST" || (isList && name == "ENCRYPTED_BYTES") { shape = nil }
        guard let shape else { return .keys([("value", .text), ("type", .word(Set(scalars.keys)))]) }
        return .keys([("value", isList ? .list(shape) : shape), ("type", .text)], may: [("isEncrypted", .flag)])
      })
  }

  // MARK: Errors

  private static let errorKeys: [(String, Shape)] = [
    ("uuid", .text), ("reason", .text),
    (
      "serverErrorCode",
      .word([
        "ACCESS_DENIED", "ATOMIC_ERROR", "AUTHENTICATION_FAILED", "AUTHENTICATION_REQUIRED", "BAD_REQUEST", "CONFLICT",
        "EXISTS", "INTERNAL_ERROR", "NOT_FOUND", "QUOTA_EXCEEDED", "THROTTLED", "TRY_AGAIN_LATER",
        "VALIDATING_REFERENCE_ERROR", "ZONE_NOT_FOUND",
      ])
    ),
  ]
  static let error = Shape.keys(
    errorKeys, may: [("retryAfter", .integer), ("redirectURL", .text), ("redirectUrl", .text)])

  /// An item that came out, or an error that names it.
  /// - Parameter conflicting: What the item's `serverRecord` is, if it has one.
  private static func item(
    _ success: Shape, named name: String, _ shape: Shape, conflicting: Shape? = nil
  ) -> Shape {
    .depending { value in
      guard value["serverErrorCode"] != nil else { return success }
      let record = conflicting.map { [("serverRecord", $0)] } ?? []
      return .keys(errorKeys + [(name, shape)], may: [("retryAfter", .integer)] + record)
    }
  }

  // MARK: Records

  private static let permission = Shape.word(["NONE", "READ_ONLY", "READ_WRITE", "UNKNOWN"])
  private static let identity = Shape.keys(
    [("nameComponents", .map(.text)), ("lookupInfo", .map(.text))], may: [("userRecordName", .text)])
  private static let participant = Shape.keys(
    [
      ("userIdentity", identity), ("type", .word(["OWNER", "ADMINISTRATOR", "USER", "PUBLIC_USER", "UNKNOWN"])),
      ("permission", permission), ("acceptanceStatus", .word(["INVITED", "ACCEPTED", "REMOVED", "UNKNOWN"])),
    ], may: [("participantId", .text)])

  static func record(numbersAsStrings: Bool = false) -> Shape {
    .depending { value in
      let required: [(String, Shape)] = [
        ("recordName", .text), ("recordType", .text), ("fields", fields(numbersAsStrings: numbersAsStrings)),
        ("recordChangeTag", .text), ("created", stamp), ("modified", stamp), ("deleted", .flag), ("zoneID", zoneID),
      ]
      let optional: [(String, Shape)] = [
        ("pluginFields", .nothing), ("parent", pointer), ("share", pointer), ("shortGUID", .text),
      ]
      guard value["recordType"]?.string == "cloudkit.share" else { return .keys(required, may: optional) }
      return .keys(
        required + [("publicPermission", permission), ("participants", .list(participant)), ("owner", participant)],
        may: optional + [("currentUserParticipant", participant)])
    }
  }

  private static let tombstone = Shape.keys([("recordName", .text), ("deleted", .flag), ("zoneID", zoneID)])
  private static let deletion = Shape.keys([("recordName", .text), ("deleted", .flag)], may: [("zoneID", zoneID)])

  private static func recordItem(deleted: Shape, numbersAsStrings: Bool = false) -> Shape {
    .depending { value in
      let success = value["deleted"] == .flag(true) ? deleted : record(numbersAsStrings: numbersAsStrings)
      return item(success, named: "recordName", .text, conflicting: record(numbersAsStrings: false))
    }
  }

  private static func records(
    deleted: Shape, _ more: [(String, Shape)] = [], numbersAsStrings: Bool
  ) -> Shape {
    .keys(
      [("records", .list(recordItem(deleted: deleted, numbersAsStrings: numbersAsStrings)))],
      may: [("syncToken", .base64)] + more)
  }

  private static func page(numbersAsStrings: Bool) -> [(String, Shape)] {
    [
      ("records", .list(recordItem(deleted: tombstone, numbersAsStrings: numbersAsStrings))), ("syncToken", .base64),
      ("moreComing", .flag),
    ]
  }

  // MARK: Others

  private static let notificationInfo = Shape.keys(
    [],
    may: [
      ("alertBody", .text), ("alertLocalizationKey", .text), ("alertLocalizationArgs", .list(.text)),
      ("alertActionLocalizationKey", .text), ("alertLaunchImage", .text), ("soundName", .text),
      ("shouldBadge", .flag), ("shouldSendContentAvailable", .flag), ("additionalFields", .list(.text)),
      ("category", .text), ("title", .text), ("subtitle", .text), ("titleLocalizationKey", .text),
      ("titleLocalizationArgs", .list(.text)), ("subtitleLocalizationKey", .text),
      ("subtitleLocalizationArgs", .list(.text)), ("collapseIDKey", .text), ("shouldSendMutableContent", .flag),
    ])
  private static let filter = Shape.keys(
    [("comparator", .text), ("fieldValue", .keys([("value", .text)], may: [("type", .text)]))],
    may: [("fieldName", .text), ("systemFieldName", .text), ("distance", .number)])
  private static let query = Shape.keys(
    [("recordType", .text)],
    may: [
      ("filterBy", .list(filter)),
      ("sortBy", .list(.keys([], may: [("fieldName", .text), ("systemFieldName", .text), ("ascending", .flag)]))),
    ])
  private static let subscription = Shape.depending { value in
    guard value["deleted"] != .flag(true) else { return .keys([("subscriptionID", .text), ("deleted", .flag)]) }
    return .keys(
      [("subscriptionID", .text), ("subscriptionType", .word(["query", "zone"]))],
      may: [
        ("query", query), ("zoneID", zoneID), ("zoneWide", .flag),
        ("firesOn", .list(.word(["create", "update", "delete"]))), ("firesOnce", .flag),
        ("notificationInfo", notificationInfo),
      ])
  }
  private static let callerKeys: [(String, Shape)] = [
    ("userRecordName", .text), ("nameComponents", .map(.text)), ("lookupInfo", .map(.text)),
  ]
  private static let user = Shape.keys(
    callerKeys, may: [("firstName", .maybe(.text)), ("lastName", .maybe(.text)), ("emailAddress", .text)])
  private static let shortGUID = Shape.keys(
    [("value", .text)], may: [("shouldFetchRootRecord", .flag), ("rootRecordDesiredKeys", .list(.text))])
  private static let share = Shape.depending { value in
    guard value["serverErrorCode"] == nil else {
      return .keys(errorKeys, may: [("shortGUID", shortGUID), ("retryAfter", .integer)])
    }
    return .keys(
      [
        ("shortGUID", shortGUID), ("containerIdentifier", .text),
        ("environment", .word(["development", "production"])),
        ("databaseScope", .word(["PRIVATE", "SHARED", "PUBLIC"])), ("zoneID", zoneID), ("share", record()),
        ("ownerIdentity", identity), ("participantType", .text), ("participantStatus", .text),
        ("participantPermission", permission),
      ],
      may: [
        ("rootRecordName", .text), ("rootRecord", record()), ("webpageURL", .text),
        ("potentialMatchList", .list(.map(.text))),
      ])
  }

  // MARK: Answers

  /// The answer to an operation that did not fail as a whole.
  static func answer(to operation: Operation, numbersAsStrings: Bool = false) -> Shape {
    switch operation {
    case .recordsQuery:
      records(deleted: deletion, [("continuationMarker", .text)], numbersAsStrings: numbersAsStrings)
    case .recordsModify, .recordsLookup: records(deleted: deletion, numbersAsStrings: numbersAsStrings)
    case .recordsChanges: .keys(page(numbersAsStrings: numbersAsStrings), may: [("reverse", .flag)])
    case .changesZone:
      .keys([
        (
          "zones",
          .list(
            item(.keys([("zoneID", zoneID)] + page(numbersAsStrings: numbersAsStrings)), named: "zoneID", zoneID))
        )
      ])
    case .recordsResolve, .recordsAccept: .keys([("results", .list(share))])
    case .zonesList, .zonesLookup, .zonesModify: .keys([("zones", .list(item(zone, named: "zoneID", zoneID)))])
    case .zonesChanges:
      .keys([("zones", .list(zone)), ("metaSyncToken", .base64), ("moreComing", .flag)])
    case .changesDatabase:
      .keys([
        (
          "zones",
          .list(
            item(
              .keys([("zoneID", zoneID)], may: [("syncToken", .base64), ("deleted", .flag)]), named: "zoneID",
              zoneID))
        ), ("syncToken", .base64), ("moreComing", .flag),
      ])
    case .subscriptionsList, .subscriptionsLookup, .subscriptionsModify:
      .keys([("subscriptions", .list(item(subscription, named: "subscriptionID", .text)))])
    case .usersCaller, .usersCurrent:
      .keys(
        callerKeys + [("isDiscoverable", .flag), ("users", .list(identity))],
        may: [("firstName", .text), ("lastName", .text)])
    case .usersDiscover, .usersLookupEmail, .usersLookupID, .usersLookupPhone, .usersLookupContacts:
      .keys([("users", .list(user))])
    case .assetsUpload:
      .keys([("tokens", .list(.keys([("recordName", .text), ("fieldName", .text), ("url", .text)])))])
    case .assetsRereference:
      .keys([("assets", .list(.keys(assetKeys + [("receipt", .text)], may: assetMore)))])
    case .tokensCreate:
      .keys([
        ("apnsEnvironment", .word(["development", "production"])), ("apnsToken", .base64), ("webcourierURL", .text),
      ])
    case .tokensRegister: .nothing
    }
  }

  /// The answer to the bytes of an asset.
  static let upload = Shape.keys([
    (
      "singleFile",
      .keys(assetKeys + assetMore + [("receipt", .text)])
    )
  ])

  private static let textOrTexts = Shape.depending { $0.kind == "array" ? .list(.text) : .text }

  /// What a long poll brings.
  static let notification = Shape.depending { value in
    let kinds: [(String, Shape)] = [
      (
        "qry",
        .keys(
          [("sid", .text), ("rid", .text), ("zid", .text), ("zoid", .text), ("dbs", .integer), ("fo", .integer)],
          may: [("af", .map(.text))])
      ),
      ("fet", .keys([("sid", .text), ("zid", .text), ("zoid", .text), ("dbs", .integer)])),
      ("met", .keys([("sid", .text), ("dbs", .integer)], may: [("zid", .text), ("zoid", .text)])),
    ]
    let present = kinds.filter { value["ck"]?[$0.0] != nil }
    return .keys([
      (
        "aps",
        .keys(
          [],
          may: [
            ("alert", .depending { $0.kind == "string" ? .text : .map(textOrTexts) }), ("badge", .integer),
            ("sound", .text), ("category", .text), ("content-available", .integer),
            ("mutable-content", .integer),
          ])
      ),
      (
        "ck",
        .keys(
          [("cid", .text), ("nid", .text)] + (present.count == 1 ? present : kinds),
          may: [("ce", .integer), ("ckuserid", .text), ("p", .integer)])
      ),
    ])
  }
}
