import TestSupport
import Testing
import VirgaAuth
import VirgaModel
import VirgaWire

@testable import VirgaHTTP

/// Files of foreign clients, over sockets (C145).
@Suite(.timeLimit(.minutes(1))) struct ForeignAssetTests {
  private static let zone = #""zoneID":{"zoneName":"Trips"}"#

  private func address(
    _ client: ForeignClient, record: String = "r", field: String = "f",
    as credentials: ForeignClient.Credentials = .user
  ) throws -> String {
    let token = #"{"recordName":"\#(record)","recordType":"T","fieldName":"\#(field)"}"#
    let answer = try client.call(.assetsUpload, #"{\#(Self.zone),"tokens":[\#(token)]}"#, as: credentials)
    return try client.world.target(of: try #require(try answer.json["tokens"]?.elements[0]["url"]?.string))
  }

  /// The asset value of an upload's answer, with some members replaced.
  private func value(_ receipt: PlainJSON, _ changed: [String: PlainJSON] = [:]) -> String {
    PlainJSON.object(
      (receipt["singleFile"]?.members ?? []).map {
        PlainJSON.Member(name: $0.name, value: changed[$0.name] ?? $0.value)
      }
    ).json
  }

  private func save(_ client: ForeignClient, _ asset: String, name: String = "r", field: String = "f") throws
    -> PlainJSON
  {
    try client.save(#""\#(field)":{"value":\#(asset),"type":"ASSETID"}"#, name: name)
  }

  @Test(
    arguments: [
      (nil, "", "Content-Length: 0\r\n"), (nil, "0\r\n\r\n", "Transfer-Encoding: chunked\r\n"),
      ("application/octet-stream", "", "Content-Length: 0\r\n"),
      (
        "multipart/form-data; boundary=b",
        "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"file.file\"\r\n"
          + "Content-Type: application/octet-stream\r\n\r\n\r\n--b--\r\n", nil
      ),
      (
        "multipart/form-data; boundary=b",
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"\"\r\n\r\n\r\n--b--", nil
      ),
    ] as [(String?, String, String?)])
  func anEmptyFileIsAFile(type: String?, body: String, framing: String?) async throws {
    try await ForeignClient.run { client in
      for method in ["POST", "PUT"] {
        let target = try address(client)
        let length = framing ?? "Content-Length: \(body.utf8.count)\r\n"
        let raw = client.connection()
        raw.send(
          "\(method) \(target) HTTP/1.1\r\nHost: server.example\r\n\(type.map { "Content-Type: \($0)\r\n" } ?? "")"
            + "\(length)\r\n\(body)")
        let answer = try #require(raw.answer())
        let receipt = try answer.json
        #expect(answer.status == 200 && receipt["singleFile"]?["size"]?.integer == 0, "\(answer.text)")
        let saved = try save(client, value(receipt))
        let asset = try #require(saved["fields"]?["f"]?["value"], "\(saved)")
        #expect(asset["size"]?.integer == 0)
        let download = try client.send("GET", try client.world.target(of: try #require(asset["downloadURL"]?.string)))
        #expect(download.status == 200 && download.body == [] && download.fields["content-length"] == "0")
        _ = try client.save("")
      }
    }
  }

  /// A record that comes before its bytes, or with those of another, is refused and says why.
  @Test func aReceiptThatDoesNotFitIsRefusedWithTheReason() async throws {
    try await ForeignClient.run { client in
      let receipt = try client.send("POST", try address(client), [1, 2, 3]).json
      func text(_ text: String) -> PlainJSON { .text(text) }
      func number(_ number: Int) -> PlainJSON { .number("\(number)") }
      for (asset, name, field, reason) in [
        (value(receipt, ["receipt": text(String(repeating: "0", count: 64))]), "r", "f", "unknown receipt"),
        (value(receipt, ["receipt": text("made up")]), "r", "f", "unknown receipt"),
        (value(receipt, ["receipt": .null]), "r", "f", "has no receipt"), (value(receipt), "other", "f", "record 'r'"),
        (value(receipt), "r", "g", "field 'f'"), (value(receipt, ["size": number(4)]), "r", "f", "has 4 bytes"),
        (value(receipt, ["size": number(0)]), "r", "f", "has 0 bytes"),
        (value(receipt, ["fileChecksum": text(SHA256.digest(of: [9]).base64)]), "r", "f", "another checksum"),
      ] {
        let saved = try save(client, asset, name: name, field: field)
        #expect(saved["serverErrorCode"]?.string == "BAD_REQUEST", "\(reason)")
        #expect(saved["reason"]?.string?.contains(reason) == true, "\(saved["reason"]?.string ?? "")")
      }
      let stranger = try await client.world.stranger()
      let theirs = try await client.world.call(
        .zonesModify, #"{"operations":[{"operationType":"create","zone":{\#(Self.zone)}}]}"#, session: stranger)
      #expect(theirs.status == 200)
      let record = #"{"recordName":"r","recordType":"T","fields":{"f":{"value":\#(value(receipt)),"type":"ASSETID"}}}"#
      let refused = try await client.world.call(
        .recordsModify, #"{\#(Self.zone),"operations":[{"operationType":"create","record":\#(record)}]}"#,
        session: stranger)
      #expect(refused.text.contains("another container, environment or user"))
      #expect(try client.call(.recordsLookup, #"{\#(Self.zone),"records":["r"]}"#).text.contains("NOT_FOUND"))
      #expect(try save(client, value(receipt))["recordChangeTag"] != nil)
    }
  }

  @Test func aCutUploadLeavesNothingAndItsAddressGoesOnBeingGood() async throws {
    try await ForeignClient.run { client in
      let target = try address(client)
      for framing in [
        "Content-Length: 900\r\n\r\nonly so much", "Transfer-Encoding: chunked\r\n\r\n800\r\nonly so much",
      ] {
        var cut: SocketClient? = client.connection()
        cut?.send("POST \(target) HTTP/1.1\r\nHost: server.example\r\n\(framing)")
        try await client.world.until { try !client.world.files(in: "uploads").isEmpty }
        cut = nil
        try await client.world.until { try client.world.files(in: "uploads").isEmpty }
      }
      #expect(try client.world.files(in: "assets").isEmpty)
      let receipt = try client.send("POST", target, [1, 2, 3])
      #expect(receipt.status == 200)
      #expect(try save(client, value(try receipt.json))["recordChangeTag"] != nil)
    }
  }
}
