/// The requests of CloudKit Web Services: the keys and types of each body, and what Apple's service is known to refuse.
enum RequestShapes {
  /// By operation; `nil` for those that are a GET without a body.
  static let bodies: [String: Shape?] = [
    "zones/list": .none, "subscriptions/list": .none, "users/caller": .none,
    "records/query": .object(
      [
        "query": query, "zoneID": .zoneID, "zoneWide": .bool, "resultsLimit": .integer(1...200),
        "continuationMarker": .string, "desiredKeys": .list(.string), "numbersAsStrings": .bool,
      ], required: ["query"]),
    "records/modify": .checked(
      .object(
        [
          "operations": .list(recordOperation, max: 200), "zoneID": .zoneID, "atomic": .bool,
          "desiredKeys": .list(.string), "numbersAsStrings": .bool,
        ], required: ["operations"]), modificationRules),
    "records/lookup": .object(
      [
        "records": .list(
          .object(["recordName": .string, "desiredKeys": .list(.string)], required: ["recordName"]), max: 200),
        "zoneID": .zoneID, "desiredKeys": .list(.string), "numbersAsStrings": .bool,
      ], required: ["records"]),
    "records/resolve": shortGUIDs, "records/accept": shortGUIDs,
    "zones/lookup": .object(["zones": .list(.zoneID, max: 200)], required: ["zones"]),
    "zones/modify": .object(
      [
        "operations": .list(
          .object(
            [
              "operationType": .oneOf(["create", "delete"]), "zone": .object(["zoneID": .zoneID], required: ["zoneID"]),
            ], required: ["operationType", "zone"]), max: 200)
      ], required: ["operations"]),
    "changes/database": .object(["syncToken": .base64, "resultsLimit": .integer(1...200)]),
    "changes/zone": .object(
      [
        "zones": .list(
          .object(
            [
              "zoneID": .checked(.zoneID) {
                $0["zoneName"]?.text == "_defaultZone" ? "the default zone has no feed" : nil
              },
              "syncToken": .base64, "reverse": .bool, "desiredKeys": .list(.string), "numberAsStrings": .bool,
              "resultsLimit": .integer(1...200), "desiredRecordTypes": .list(.string),
            ], required: ["zoneID"]))
      ], required: ["zones"]),
    "subscriptions/lookup": .object(
      ["subscriptions": .list(.object(["subscriptionID": .string], required: ["subscriptionID"]), max: 200)],
      required: ["subscriptions"]),
    "subscriptions/modify": .object(
      [
        "operations": .list(
          .object(
            ["operationType": .oneOf(["create", "update", "delete"]), "subscription": subscription],
            required: ["operationType", "subscription"]), max: 200)
      ], required: ["operations"]),
    "users/discover": .object(["lookupInfos": .list(lookupInfo, max: 200)], required: ["lookupInfos"]),
    "assets/upload": .object(
      [
        "zoneID": .zoneID,
        "tokens": .list(
          .object(
            ["recordName": .string, "recordType": .string, "fieldName": .string],
            required: ["recordType", "fieldName"]), max: 200),
      ], required: ["tokens"]),
    "tokens/create": .object(
      ["apnsEnvironment": .oneOf(["development", "production"]), "clientId": .string], required: ["apnsEnvironment"]),
  ]

  private static let shortGUIDs = Shape.object(
    [
      "shortGUIDs": .list(
        .object(
          ["value": .string, "shouldFetchRootRecord": .bool, "rootRecordDesiredKeys": .list(.string)],
          required: ["value", "shouldFetchRootRecord"]), max: 200)
    ], required: ["shortGUIDs"])

  private static let lookupInfo = Shape.object(
    ["emailAddress": .string, "phoneNumber": .string, "userRecordName": .string])

  // MARK: Queries

  private static let comparators = [
    "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS", "IN",
    "NOT_IN",
    "BEGINS_WITH", "NOT_BEGINS_WITH", "NEAR", "CONTAINS_ALL_TOKENS", "CONTAINS_ANY_TOKENS", "LIST_CONTAINS",
    "NOT_LIST_CONTAINS", "LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL",
    "LIST_MEMBER_BEGINS_WITH", "NOT_LIST_MEMBER_BEGINS_WITH",
  ]

  private static let systemNames = [
    "recordName", "share", "parent", "createdUserRecordName", "modifiedUserRecordName", "createdTimestamp",
    "modifiedTimestamp",
  ]

  private static let query = Shape.object(
    [
      "recordType": .string,
      "filterBy": .list(
        .checked(
          .object(
            [
              "comparator": .oneOf(comparators), "fieldName": .string, "systemFieldName": .oneOf(systemNames),
              "fieldValue": .field, "distance": .number,
            ], required: ["comparator", "fieldValue"])
        ) { filter in
          // Untagged lists of members are refused; so are fields that nobody named, or named twice.
          let names = ["fieldName", "systemFieldName"].filter { filter[$0] != nil }
          if names.count != 1 { return "one name of a field is needed, not \(names)" }
          let isMembership = ["IN", "NOT_IN"].contains(filter["comparator"]?.text)
          let tag = filter["fieldValue"]?["type"]?.text ?? ""
          return isMembership && !tag.hasSuffix("_LIST") ? "IN with the type \(tag)" : nil
        }),
      "sortBy": .list(
        .object(
          [
            "fieldName": .string, "systemFieldName": .oneOf(systemNames), "ascending": .bool,
            "relativeLocation": .field,
          ])),
    ], required: ["recordType"])

  // MARK: Records

  private static let recordOperation = Shape.checked(
    .object(
      [
        "operationType": .oneOf([
          "create", "update", "forceUpdate", "replace", "forceReplace", "delete", "forceDelete",
        ]), "record": record, "desiredKeys": .list(.string),
      ], required: ["operationType", "record"])
  ) { operation in
    let (type, record) = (operation["operationType"]?.text ?? "", operation["record"])
    if ["create", "forceUpdate", "forceReplace"].contains(type), record?["recordType"] == nil {
      return "\(type) without a recordType"
    }
    if ["update", "replace", "delete"].contains(type), record?["recordChangeTag"] == nil {
      return "\(type) without a recordChangeTag"
    }
    return nil
  }

  private static let hierarchy = Shape.object(["recordName": .string, "zoneID": .zoneID], required: ["recordName"])

  private static let record = Shape.object([
    "recordName": .string, "recordType": .string, "recordChangeTag": .string, "fields": .map(.field),
    "parent": hierarchy, "share": hierarchy, "createShortGUID": .bool, "zoneID": .zoneID,
    "forRecord": .object(["recordName": .string, "recordChangeTag": .string], required: ["recordName"]),
    "publicPermission": .oneOf(["NONE", "READ_ONLY", "READ_WRITE"]), "participants": .list(participant),
  ])

  private static let participant = Shape.object(
    [
      "participantId": .string, "type": .oneOf(["OWNER", "ADMINISTRATOR", "USER", "PUBLIC_USER", "UNKNOWN"]),
      "permission": .oneOf(["NONE", "READ_ONLY", "READ_WRITE", "UNKNOWN"]),
      "acceptanceStatus": .oneOf(["INVITED", "ACCEPTED", "REMOVED", "UNKNOWN"]),
      "userIdentity": .object(
        ["userRecordName": .string, "nameComponents": .map(.string), "lookupInfo": lookupInfo]),
    ], required: ["userIdentity"])

  @Sendable private static func modificationRules(_ body: JSON) -> String? {
    let operations = body["operations"]?.elements ?? []
    let names = operations.compactMap { $0["record"]?["recordName"]?.text }
    if Set(names).count != names.count { return "a record has two operations" }
    let zone = body["zoneID"]?["zoneName"]?.text ?? "_defaultZone"
    if zone == "_defaultZone", body["atomic"] != .bool(false) { return "the default zone is not atomic" }
    let types = operations.compactMap { $0["record"]?["recordType"]?.text }
    if let type = types.first(where: { $0.lowercased() == "cloudkit.share" && $0 != "cloudkit.share" }) {
      return "there is no record type \(type)"
    }
    return nil
  }

  // MARK: Subscriptions

  private static let subscription = Shape.checked(
    .object(
      [
        "subscriptionID": .string, "subscriptionType": .oneOf(["query", "zone"]), "query": query, "zoneID": .zoneID,
        "zoneWide": .bool, "firesOn": .list(.oneOf(["create", "update", "delete"])), "firesOnce": .bool,
        "notificationInfo": notificationInfo,
      ], required: ["subscriptionID"])
  ) { subscription in
    switch subscription["subscriptionType"]?.text {
    case "zone" where subscription["zoneID"] == nil && subscription["zoneWide"] == nil: "which zone?"
    case "query" where subscription["query"] == nil || subscription["firesOn"] == nil: "when?"
    default: nil
    }
  }

  private static let notificationInfo = Shape.object([
    "alertBody": .string, "alertLocalizationKey": .string, "alertLocalizationArgs": .list(.string),
    "alertActionLocalizationKey": .string, "alertLaunchImage": .string, "soundName": .string, "shouldBadge": .bool,
    "shouldSendContentAvailable": .bool, "additionalFields": .list(.string), "category": .string, "title": .string,
    "subtitle": .string, "titleLocalizationKey": .string, "titleLocalizationArgs": .list(.string),
    "subtitleLocalizationKey": .string, "subtitleLocalizationArgs": .list(.string), "collapseIDKey": .string,
    "shouldSendMutableContent": .bool,
  ])
}
