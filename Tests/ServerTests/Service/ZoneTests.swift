import Testing
import VirgaModel
import VirgaServer
import VirgaWire

@Suite struct ServiceZoneTests {
  private func modify(
    _ harness: Harness, _ operations: [ZonesModifyRequest.Operation], in place: Harness.Where = .own
  ) throws -> [ZoneResult] {
    try harness.zones(.zonesModify(.init(operations: operations)), in: place)
  }

  @Test func creatingAZoneTwiceChangesNothing() throws {
    let harness = Harness()
    let first = try harness.makeZone("Diary")
    #expect(first.id == ZoneID("Diary", owner: "_alice") && first.isAtomic && first.syncToken != nil)
    let token = try harness.databaseChanges().syncToken
    #expect(try harness.makeZone("Diary") == first)
    #expect(try harness.databaseChanges(token).zones.isEmpty)
    #expect(try harness.page(first.syncToken).records.isEmpty)
  }

  @Test func deletingAZoneDeletesItsRecordsAndMayBeSentAgain() throws {
    let harness = try Harness.withZone()
    _ = try harness.modify(.create("r"))
    for _ in 0..<2 {
      let deleted = try modify(harness, [.init(.delete, Harness.diary)])[0].zone
      #expect(deleted?.isDeleted == true)
    }
    let request = RecordsModifyRequest(operations: [.create("r")], zone: Harness.diary)
    #expect(try harness.failure(.recordsModify(request)) == ServiceError(.zoneNotFound, Reason.zoneNotFound))
    try harness.makeZone("Diary")
    #expect(try harness.record("r") == nil)
  }

  @Test func eachOperationHasItsOwnResult() throws {
    let harness = try Harness.withZone()
    let results = try modify(
      harness,
      [
        .init(.create, ZoneSelector("New")), .init(.delete, ZoneSelector("None")), .init(.delete, ZoneSelector()),
        .init(.create, ZoneSelector("_reserved")), .init(.create, ZoneSelector("é\n")),
        .init(.create, ZoneSelector("Theirs", owner: "_bob")), .init(.delete, Harness.diary),
      ])
    #expect(
      results.map(\.code) == [nil, .zoneNotFound, .badRequest, .badRequest, .badRequest, .accessDenied, nil])
    let twice = ZonesModifyRequest(operations: [.init(.create, ZoneSelector("A")), .init(.delete, ZoneSelector("A"))])
    #expect(try harness.failure(.zonesModify(twice))?.code == .badRequest)
  }

  @Test func theListBeginsWithTheDefaultZone() throws {
    let harness = Harness()
    for name in ["B", "A", "C"] { try harness.makeZone(ZoneName(name)) }
    try harness.deleteZone("C")
    let zones = try harness.zones(.zonesList).compactMap(\.zone)
    #expect(zones.map(\.id.name) == [.default, "A", "B"])
    #expect(zones[0].syncToken == nil && !zones[0].isAtomic)
    _ = try harness.modify(.create("r"), zone: ZoneSelector())
    #expect(try harness.zones(.zonesList).compactMap(\.zone).map(\.id.name) == [.default, "A", "B"])
  }

  @Test func lookupAnswersEachNameInOrder() throws {
    let harness = try Harness.withZone()
    let names = ["Diary", "None", "_defaultZone"].map { ZoneSelector(ZoneName($0)) }
    let results = try harness.zones(.zonesLookup(.init(zones: names)))
    #expect(results.map(\.code) == [nil, .zoneNotFound, nil])
    #expect(results[1] == .failure(names[1], ServiceError(.zoneNotFound, Reason.zoneNotFound)))
    _ = try harness.modify(.create("r"))
    let token = try harness.zones(.zonesLookup(.init(zones: [Harness.diary])))[0].zone?.syncToken
    #expect(try harness.page(token).records.isEmpty)
    #expect(try harness.page(results[0].zone?.syncToken).records.map(\.name) == ["r"])
  }

  @Test func ownersOfZonesAreTheCallerHoweverWritten() throws {
    let harness = try Harness.withZone()
    for owner: UserName? in [nil, .defaultOwner, "_alice"] {
      let zone = ZoneSelector("Diary", owner: owner)
      #expect(try harness.zones(.zonesLookup(.init(zones: [zone])))[0].zone != nil)
    }
    let theirs = ZoneSelector("Diary", owner: "_bob")
    #expect(try harness.zones(.zonesLookup(.init(zones: [theirs])))[0].code == .accessDenied)
    #expect(try harness.zones(.zonesLookup(.init(zones: [Harness.diary])), as: .bob)[0].code == .zoneNotFound)
  }

  @Test func thePublicDatabaseHasTheDefaultZoneAlone() throws {
    let harness = Harness()
    #expect(try harness.zones(.zonesList, as: .world, in: .open).compactMap(\.zone).map(\.id.name) == [.default])
    let create = ZonesModifyRequest(operations: [.init(.create, Harness.diary)])
    #expect(try harness.failure(.zonesModify(create), in: .open) == .badRequest(Reason.noZonesInPublic))
    #expect(try harness.zones(.zonesLookup(.init(zones: [Harness.diary])), in: .open)[0].code == .zoneNotFound)
  }

  @Test func theSharedDatabaseIsEmpty() throws {
    let harness = try Harness.withZone()
    #expect(try harness.zones(.zonesList, in: .shared).isEmpty)
    #expect(try modify(harness, [.init(.create, Harness.diary)], in: .shared)[0].code == .accessDenied)
    let lookup = RecordsLookupRequest(records: [.init("r")], zone: Harness.diary)
    #expect(try harness.failure(.recordsLookup(lookup), in: .shared)?.code == .zoneNotFound)
    let save = RecordsModifyRequest(operations: [.create("r")])
    #expect(try harness.failure(.recordsModify(save), in: .shared)?.code == .zoneNotFound)
    guard case .databaseChanges(let reply) = try harness.call(.changesDatabase(.init()), in: .shared) else {
      return #expect(Bool(false))
    }
    #expect(reply.zones.isEmpty && !reply.moreComing)
    let feed = ZoneChangesRequest(zone: Harness.diary)
    guard case .zoneChanges(let results) = try harness.call(.changesZone([feed]), in: .shared) else {
      return #expect(Bool(false))
    }
    #expect(results == [.failure(Harness.diary, ServiceError(.zoneNotFound, Reason.zoneNotFound))])
  }
}

@Suite struct ServiceAccessTests {
  private let lookup = Call.recordsLookup(RecordsLookupRequest(records: [.init("r")]))

  @Test func aPrivateDatabaseNeedsItsUser() throws {
    let harness = Harness()
    for call in [lookup, .zonesList, .usersCaller, .usersCurrent, .changesDatabase(.init()), .subscriptionsList] {
      for place in [Harness.Where.own, .shared] {
        #expect(try harness.failure(call, as: .world, in: place)?.code == .authenticationRequired, "\(call)")
      }
    }
    #expect(try harness.call(.usersCaller) == .user("_alice"))
    #expect(try harness.failure(.usersCaller, as: .world, in: .open)?.code == .authenticationRequired)
  }

  @Test func aUsersDatabaseIsTheirsAlone() throws {
    let harness = Harness()
    _ = try harness.modify(.create("r"), zone: ZoneSelector())
    #expect(try harness.lookUp(["r"], zone: ZoneSelector(), as: .bob)[0].code == .notFound)
    let elsewhere = Harness.Where(container: "iCloud.other")
    #expect(try harness.lookUp(["r"], zone: ZoneSelector(), in: elsewhere)[0].code == .notFound)
  }

  @Test(arguments: ["", "a/b", "é", "a b", ".a", String(repeating: "c", count: 256)])
  func aContainerOfAnImpossibleNameIsNotFound(name: String) throws {
    let place = Harness.Where(container: ContainerID(name))
    #expect(try Harness().failure(.zonesList, in: place)?.code == .notFound)
    let token = Call.tokensCreate(.init(apnsEnvironment: "development"))
    #expect(try Harness().failure(token, in: place)?.code == .notFound)
  }

  @Test func theWorldReadsWhoeverIsSignedInCreatesAndTheCreatorChanges() throws {
    let harness = Harness()
    func modify(_ operation: RecordOperation, _ caller: Harness.Caller) throws -> RecordResult {
      try harness.modify(operation, zone: ZoneSelector(), as: caller, in: .open)
    }
    func refusal(_ operation: RecordOperation, _ caller: Harness.Caller) throws -> ServiceError? {
      let call = Call.recordsModify(RecordsModifyRequest(operations: [operation]))
      if let whole = try harness.failure(call, as: caller, in: .open) { return whole }
      return try modify(operation, caller).failure?.error
    }
    let signIn = ServiceError(.authenticationRequired, "request needs authorization")
    #expect(try refusal(.create("r"), .world) == signIn)
    let saved = try modify(.create("r"), .alice).record!
    #expect(saved.id.zone == ZoneID(.default, owner: .defaultOwner))
    #expect(try harness.lookUp(["r"], zone: ZoneSelector(), as: .world, in: .open)[0].record == saved)
    for caller in [Harness.Caller.bob, .world] {
      for operation: RecordOperation in [
        .update("r", tag: saved.tag), .force("r"), .forceDelete("r"), .delete("r", tag: saved.tag),
      ] {
        let denied = ServiceError(.accessDenied, "WRITE operation not permitted")
        #expect(try refusal(operation, caller) == (caller.principal.user == nil ? signIn : denied))
      }
    }
    #expect(try modify(.create("r"), .bob).code == .conflict)
    #expect(try modify(.update("r", tag: saved.tag), .alice).record != nil)
    #expect(try modify(.forceDelete("r"), .alice).isDeleted)
  }
}
