import TestSupport
import Testing
import VirgaModel

@testable import VirgaWire

/// The forms in which clients write queries.
@Suite struct QueryTests {
  private func request(_ text: String) throws -> RecordsQueryRequest {
    let call = try Call(decoding: Array(text.utf8), for: .recordsQuery)
    guard case .recordsQuery(let request) = call else { throw WireError(.syntax, offset: 0, expected: "a query") }
    return request
  }

  private func filter(_ text: String) throws -> QueryFilter {
    try request(#"{"query":{"recordType":"T","filterBy":[\#(text)]}}"#).query.filters[0]
  }

  private func sort(_ text: String) throws -> QuerySort {
    try request(#"{"query":{"recordType":"T","sortBy":[\#(text)]}}"#).query.sorts[0]
  }

  private func refusal(_ text: String) -> String? {
    do {
      _ = try request(text)
      return nil
    } catch let error as ServiceError {
      return error.reason
    } catch {
      return "\(error)"
    }
  }

  @Test func nullEqualsAbsenceAndUnknownKeysAreIgnored() throws {
    let found = try request(
      #"{"query":{"recordType":"T","filterBy":null,"x":1},"resultsLimit":null,"continuationMarker":null,"y":[2]}"#)
    #expect(found == RecordsQueryRequest(Query("T")))
  }

  @Test func oneFilterMayStandWithoutItsArray() throws {
    let found = try request(
      #"{"query":{"recordType":"T","filterBy":{"comparator":"EQUALS","fieldName":"a","fieldValue":{"value":1}}}}"#)
    #expect(found.query.filters == [QueryFilter("a", .equals, .int64(1), isTagged: false)])
  }

  @Test(arguments: QueryComparator.allCases)
  func everyComparatorIsRead(comparator: QueryComparator) throws {
    let text =
      #"{"comparator":"\#(comparator.rawValue)","fieldName":"a","fieldValue":{"value":"x","type":"STRING"},"distance":null}"#
    #expect(try filter(text) == QueryFilter("a", comparator, .string("x")))
  }

  @Test(arguments: [
    ("CONTAINS_ANY", QueryComparator.containsAnyTokens), ("LIST_NOT_CONTAINS_ANY", .notListContainsAny),
    ("LIST_NOT_CONTAINS", .notListContains), ("LIST_NOT_CONTAINS_ALL", .notListContainsAll),
  ])
  func otherSpellingsOfComparatorsAreRead(text: String, comparator: QueryComparator) throws {
    #expect(QueryComparator(wireName: text) == comparator)
  }

  /// C76: nothing but AND joins filters, and what else is asked for is refused by name.
  @Test(arguments: ["OR", "NOT", "ANY", "ALL", "LIKE", "MATCHES", "ENDS_WITH", "BETWEEN", "CONTAINS", "equals"])
  func otherComparatorsAreRefusedByName(text: String) {
    let body =
      #"{"query":{"recordType":"T","filterBy":[{"comparator":"\#(text)","fieldName":"a","fieldValue":{"value":1}}]}}"#
    #expect(refusal(body)?.contains("a known comparator, not \(text)") == true)
  }

  /// C76
  @Test func nestedFiltersAreRefused() {
    #expect(refusal(#"{"query":{"recordType":"T","filterBy":[[]]}}"#)?.hasPrefix("Unexpected input") == true)
    let compound = #"{"query":{"recordType":"T","filterBy":[{"type":"OR","filters":[]}]}}"#
    #expect(refusal(compound)?.contains("the key comparator") == true)
  }

  @Test(arguments: [
    #"{"comparator":"EQUALS","systemFieldName":"recordName","fieldValue":{"value":{"recordName":"r"},"type":"REFERENCE"}}"#,
    #"{"comparator":"EQUALS","fieldName":"___recordID","fieldValue":{"value":{"recordName":"r"}}}"#,
    #"{"fieldValue":{"value":{"recordName":"r"},"type":"REFERENCE"},"fieldName":"___recordId","comparator":"EQUALS"}"#,
  ])
  func recordNamesAreReadByEitherName(text: String) throws {
    let found = try filter(text)
    #expect(found.field == .system(.recordID))
    #expect(found.value == .reference(Reference(recordName: "r")))
  }

  @Test func aSystemFieldsOwnNameMayBeTheKeyOfItsValue() throws {
    let found = try filter(
      #"{"comparator":"EQUALS","fieldValue":{"value":{"createdUserRecordName":"_u"}},"systemFieldName":"createdUserRecordName"}"#
    )
    #expect(found.value == .reference(Reference(recordName: "_u")))
    let bare = try filter(#"{"comparator":"EQUALS","fieldName":"recordName","fieldValue":{"value":"r"}}"#)
    #expect(bare == QueryFilter("recordName", .equals, .string("r"), isTagged: false))
  }

  @Test(arguments: SystemField.allCases)
  func systemFieldsHaveTwoNames(field: SystemField) throws {
    #expect(try sort(#"{"fieldName":"\#(field.rawValue)"}"#).field == .system(field))
    if let name = field.friendlyName {
      #expect(try sort(#"{"systemFieldName":"\#(name)"}"#).field == .system(field))
    }
  }

  @Test func originsAreFieldValuesOrBareLocations() throws {
    let place = Location(latitude: 1.5, longitude: -2)
    for text in [
      #"{"value":{"latitude":1.5,"longitude":-2},"type":"LOCATION"}"#, #"{"value":{"latitude":1.5,"longitude":-2}}"#,
      #"{"latitude":1.5,"longitude":-2}"#,
    ] {
      let found = try sort(#"{"fieldName":"a","ascending":false,"relativeLocation":\#(text)}"#)
      #expect(found == QuerySort("a", ascending: false, origin: place))
    }
    #expect(try sort(#"{"fieldName":"a","relativeLocation":null}"#) == QuerySort("a"))
  }

  @Test func whatIsMissingIsNamed() {
    let table = [
      (#"{}"#, "the key query"), (#"{"query":{}}"#, "the key recordType"),
      (
        #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldValue":{"value":1}}]}}"#,
        "the key fieldName"
      ),
      (#"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a"}]}}"#, "the key fieldValue"),
      (
        #"{"query":{"recordType":"T","filterBy":[{"comparator":"EQUALS","fieldName":"a","fieldValue":{}}]}}"#,
        "a value to compare with"
      ),
      (#"{"query":{"recordType":"T","sortBy":[{"ascending":true}]}}"#, "the key fieldName"),
    ]
    for (text, expected) in table { #expect(refusal(text)?.contains(expected) == true, "\(text)") }
  }

  @Test func tooManyPartsPassALimit() {
    for count in [64, 65] {
      let sorts = Array(repeating: #"{"fieldName":"a"}"#, count: count).joined(separator: ",")
      let found = refusal(#"{"query":{"recordType":"T","sortBy":[\#(sorts)]}}"#)
      #expect((found == nil) == (count == 64))
    }
  }

  @Test func queriesAreReadAsTheyWereWritten() throws {
    for case (_, .recordsQuery(let request)) in GoldenTests.calls {
      #expect(try Query(json: request.query.json) == request.query)
    }
  }

  @Test(
    arguments: Corpus.cases(
      own: [("own/query-state-request.json", "SyncState")],
      recorded: [
        ("icloudpd-recordings/query-indexing-2018.request.json", "CheckIndexingState"),
        ("icloudpd-recordings/query-indexing-2023.request.json", "CheckIndexingState"),
      ]))
  func recordedQueriesAreRead(path: String, recordType: RecordType) throws {
    guard case .recordsQuery(let request) = try Call(decoding: try Corpus.bytes(path), for: .recordsQuery) else {
      Issue.record("\(path) is not a query")
      return
    }
    #expect(request.query.recordType == recordType)
  }
}
