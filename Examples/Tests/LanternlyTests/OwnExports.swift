import Foundation

@testable import LanternlyCore

/// Exports in Day One's forms that these tests write themselves: a folder with photos, the same as an archive, single files,
/// and a bundle of the classic app.
struct OwnExports {
  let folder: TemporaryFolder
  private var path: String { folder.path }

  /// Writes the one of this name.
  /// - Returns: Its path.
  func write(_ name: String) throws -> String {
    switch name {
    case "Journal": try writeJournal()
    case "Journal.zip":
      try writeJournal()
      try writeArchive()
    case "Journal.dayone": try writeClassicBundle()
    case "escaped-zones.json": try writeSingleFiles()
    default: try writeWhatIsNoJournal()
    }
    return "\(path)/\(name)"
  }

  private func writeJournal() throws {
    let days = (0..<12).map { day in
      """
      {"uuid": "\(Self.uuid(day))", "creationDate": "2026-0\(day % 9 + 1)-12T16:38:16Z", "timeZone": "Europe/Zurich",
       "modifiedDate": "2026-10-12T19:44:30Z", "tags": ["harbour"], "starred": \(day == 4),
       "text": "Day \(day)\\n\\n![](dayone-moment://P\(day)A)", "photos": [\(photo(day, "A")), \(photo(day, "B"))]}
      """
    }
    let first = """
      {"uuid": "\(Self.uuid(99))", "creationDate": "2026-11-30T07:05:09Z", "timeZone": "Europe/Zurich",
       "tags": ["harbour", "Rain"], "modifiedDate": "2026-11-30T08:00:00Z",
       "location": {"latitude": 47.37, "longitude": 8.54, "localityName": "Zurich", "country": "Switzerland"},
       "weather": {"temperatureCelsius": 4, "conditionsDescription": "Rain"},
       "text": "It rained\\\\.\\n\\n![](dayone-moment://P99A)\\n\\n[Before](dayone2://view?entryId=\(Self.uuid(4)))\\n\\n![](dayone-moment://NONE)",
       "photos": [\(photo(99, "A"))]}
      """
    try folder.write(
      #"{"metadata": {"version": "1.0"}, "entries": [\#((days + [first]).joined(separator: ",\n"))]}"#,
      to: "Journal/Journal.json")
    for day in Array(0..<12) + [99] {
      for letter in day == 99 ? ["A"] : ["A", "B"] {
        try folder.write("picture \(day) \(letter)", to: "Journal/photos/digest-\(day)-\(letter).png")
      }
    }
  }

  static func uuid(_ number: Int) -> String {
    String(repeating: "0", count: 30) + (number < 10 ? "0" : "") + "\(number)"
  }

  private func photo(_ day: Int, _ letter: String) -> String {
    #"{"identifier": "P\#(day)\#(letter)", "md5": "digest-\#(day)-\#(letter)", "type": "png", "orderInEntry": 0}"#
  }

  private func writeArchive() throws {
    let script = """
      import os, sys, zipfile
      with zipfile.ZipFile(sys.argv[2], 'w', zipfile.ZIP_DEFLATED) as z:
          for folder, _, names in sorted(os.walk(sys.argv[1])):
              for name in sorted(names):
                  path = os.path.join(folder, name)
                  z.write(path, os.path.relpath(path, sys.argv[1]))
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "-c", script, "\(path)/Journal", "\(path)/Journal.zip"]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  private func writeSingleFiles() throws {
    // One exporter escapes the slash of a zone twice.
    try folder.write(
      #"""
      {"entries": [
        {"uuid": "\#(Self.uuid(1))", "creationDate": "2026-03-23T00:00:00Z", "timeZone": "Etc\\/GMT", "text": "Quiet.\n\nA gull."},
        {"uuid": "\#(Self.uuid(2))", "creationDate": "2026-03-24T00:00:00Z", "timeZone": "Etc\\/GMT", "text": "Still quiet."}
      ]}
      """#, to: "escaped-zones.json")
  }

  private func writeClassicBundle() throws {
    func entry(_ number: Int, _ more: String) throws {
      try folder.write(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <plist version="1.0"><dict>
          <key>Creation Date</key><date>2014-05-1\(number)T18:39:20Z</date>
          <key>Entry Text</key><string>Classic \(number)</string>
          <key>Time Zone</key><string>Europe/Berlin</string>
          <key>UUID</key><string>\(Self.uuid(number))</string>
          \(more)
        </dict></plist>
        """, to: "Journal.dayone/entries/\(Self.uuid(number)).doentry")
    }
    try entry(1, "<key>Starred</key><true/>")
    try entry(2, "<key>Tags</key><array><string>work</string><string>PLaY</string></array>")
    try entry(3, "<key>Location</key><dict><key>Locality</key><string>Berlin</string></dict>")
    try folder.write("picture", to: "Journal.dayone/photos/\(Self.uuid(3)).jpg")
  }

  private func writeWhatIsNoJournal() throws {
    try folder.write("Dear diary", to: "not-json/Journal.json")
    try folder.write(#"{"metadata": {}, "entries":"#, to: "cut.json")
    try folder.write(#"{"title": "a schema", "type": "object"}"#, to: "schema.json")
    try folder.write("nothing", to: "empty/readme.txt")
  }
}
