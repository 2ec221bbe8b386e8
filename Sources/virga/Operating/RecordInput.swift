import Foundation
import VirgaWire

/// Records as JSON from a file: one, or one on each line.
struct RecordInput {
  let records: [[String: Any]]
  /// Where each stands, as an error names it.
  let places: [String]

  /// - Parameter path: `-` for standard input.
  init(path: String) throws(Failure) {
    let name = path == "-" ? "standard input" : path
    let data = path == "-" ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: path)
    guard let data else { throw Failure(.unreadable, "\(path) cannot be read") }
    let bytes = Array(data)
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated()
      .filter { !$0.element.allSatisfy { [0x20, 0x09, 0x0d].contains($0) } }
    // One record may take many lines; where the first line is a whole one, each is.
    if lines.count > 1, let first = lines.first, (try? ProtocolJSON.value(Array(first.element))) != nil {
      places = lines.map { "\(name), line \($0.offset + 1)" }
      var found: [[String: Any]] = []
      for (line, place) in zip(lines, places) { found.append(try Self.record(Array(line.element), place)) }
      records = found
    } else {
      places = [name]
      records = [try Self.record(bytes, name)]
    }
  }

  private static func record(_ bytes: [UInt8], _ place: String) throws(Failure) -> [String: Any] {
    let value: Any
    do throws(WireError) { value = try ProtocolJSON.value(bytes) } catch {
      throw Failure(.damaged, "\(place) is not JSON: \(error)")
    }
    guard let record = value as? [String: Any] else {
      throw Failure(.damaged, "\(place) is JSON, but not an object with one record")
    }
    return record
  }
}

/// The names of records that a command is about: its operands, or those in a file of JSON lines.
struct RecordNames {
  let names: [String]
  let isFromStandardInput: Bool

  init(_ arguments: Arguments) throws(Failure) {
    let path = arguments.value("--file")
    isFromStandardInput = path == "-"
    guard let path else {
      guard !arguments.operands.isEmpty else { throw .usage(arguments.spec.name, "NAME is missing") }
      names = arguments.operands
      return
    }
    guard arguments.operands.isEmpty else {
      throw .usage(arguments.spec.name, "use either --file or NAME")
    }
    let input = try RecordInput(path: path)
    var found: [String] = []
    for (record, place) in zip(input.records, input.places) {
      guard let name = record["recordName"] as? String, !name.isEmpty else {
        throw Failure(.damaged, "\(place): recordName is missing")
      }
      found.append(name)
    }
    names = found
  }
}
