import Foundation
import Testing

/// Which of our modules, and which C libraries, each target may import; see docs/ARCHITECTURE.md.
private let arrows: [String: Set<String>] = [
  "VirgaModel": [],
  "VirgaWire": ["VirgaModel"],
  "VirgaSchema": ["VirgaModel"],
  "VirgaMerge": ["VirgaModel"],
  "VirgaAuth": ["VirgaModel", "VirgaWire", "COpenSSL"],
  "VirgaSQLite": ["CSQLite"],
  "VirgaCommandLine": [],
  "VirgaServer": ["VirgaModel", "VirgaWire", "VirgaSchema"],
  "VirgaServerSQLite": ["VirgaModel", "VirgaServer", "VirgaSQLite", "CLinux"],
  "VirgaHTTP": ["VirgaModel", "VirgaWire", "VirgaSchema", "VirgaAuth", "VirgaServer", "COpenSSL", "CLinux"],
  "VirgaAccounts": ["VirgaModel", "VirgaWire", "VirgaAuth", "CSodium"],
  "VirgaSync": ["VirgaModel", "VirgaWire"],
  "VirgaPredicates": ["VirgaModel"],
  "VirgaCloudKit": [
    "VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts", "VirgaSync", "VirgaPredicates", "CCurl",
  ],
  "CloudKit": ["VirgaCloudKit", "VirgaPredicates"],
  "VirgaDevices": ["VirgaModel", "VirgaAuth", "VirgaAccounts", "VirgaCloudKit"],
  "CloudKitMerge": ["VirgaModel", "VirgaMerge", "VirgaCloudKit"],
  "virga": [
    "VirgaModel", "VirgaWire", "VirgaSchema", "VirgaAuth", "VirgaAccounts", "VirgaServer", "VirgaServerSQLite",
    "VirgaHTTP", "VirgaCloudKit", "VirgaCommandLine", "CLinux",
  ],
]

/// What the pure targets may import besides: nothing that knows time, files or sockets.
private let pureTargets: Set<String> = [
  "VirgaModel", "VirgaWire", "VirgaSchema", "VirgaMerge", "VirgaServer", "VirgaSync",
]
/// "Swift" stands for its Unicode tables, which have to be asked for by name.
private let pureImports: Set<String> = ["FoundationEssentials", "Synchronization", "Swift"]
/// Files that take functions of mathematics from the C library, each by its name.
private let mathematics: Set<String> = ["Location+Distance.swift"]

private let clientTargets: Set<String> = [
  "VirgaSync", "VirgaAccounts", "VirgaPredicates", "VirgaCloudKit", "CloudKit", "CloudKitMerge", "VirgaDevices",
]
private let serverTargets: Set<String> = ["VirgaServer", "VirgaServerSQLite", "VirgaHTTP"]

@Suite struct ArrowTests {
  @Test(arguments: arrows.keys.sorted())
  func importsFollowTheArrows(target: String) {
    let files = SourceTree.files(below: "Sources/\(target)")
    #expect(!files.isEmpty, "no sources below Sources/\(target)")
    let ours = Set(arrows.keys).union(["CLinux", "CSQLite", "CCurl", "COpenSSL", "CSodium"])
    for file in files {
      for module in SourceTree.imports(of: file) where ours.contains(module) {
        #expect(arrows[target]!.contains(module), "\(file.path) imports \(module): that arrow points the wrong way")
      }
    }
  }

  @Test func everyTargetHasItsArrows() throws {
    let folders = try FileManager.default.contentsOfDirectory(
      atPath: SourceTree.root.appendingPathComponent("Sources").path)
    let systemLibraries: Set<String> = ["CLinux", "CSQLite", "CCurl", "COpenSSL", "CSodium"]
    #expect(Set(folders).subtracting(systemLibraries) == Set(arrows.keys))
  }

  @Test func clientAndServerNeverMeetBelowThePrograms() {
    for (target, allowed) in arrows {
      if clientTargets.contains(target) { #expect(allowed.isDisjoint(with: serverTargets), "\(target)") }
      if serverTargets.contains(target) { #expect(allowed.isDisjoint(with: clientTargets), "\(target)") }
    }
  }

  @Test func manifestStatesTheSameArrows() throws {
    let dump = try packageDump()
    for case let target as [String: Any] in dump["targets"] as? [Any] ?? [] {
      guard let name = target["name"] as? String, let allowed = arrows[name] else { continue }
      let dependencies = (target["dependencies"] as? [[String: Any]] ?? []).compactMap { dependency in
        (dependency["byName"] as? [Any] ?? dependency["target"] as? [Any])?.first as? String
      }
      #expect(Set(dependencies).isSubset(of: allowed), "\(name) depends on \(dependencies)")
    }
  }

  @Test(arguments: pureTargets.sorted())
  func pureTargetsKnowNoClockNoDiceNoTasksNoFiles(target: String) throws {
    let bans: [(pattern: String, what: String)] = [
      (#"\bDate\s*\(\s*\)"#, "the clock"), (#"\bDate\.now\b"#, "the clock"),
      (#"\b(Continuous|Suspending)Clock\b"#, "a clock"),
      (#"\bUUID\s*\(\s*\)"#, "randomness"), (#"\bSystemRandomNumberGenerator\b"#, "randomness"),
      (#"\.random\s*\(\s*(in:[^,)]*)?\)"#, "randomness"), (#"\.(shuffled|randomElement)\s*\(\s*\)"#, "randomness"),
      (#"\bTask\b"#, "a task"), (#"\basync\b"#, "async"), (#"\bawait\b"#, "await"), (#"\bactor\b"#, "an actor"),
      (#"\bFileManager\b"#, "files"), (#"\bFileHandle\b"#, "files"), (#"\bfopen\b"#, "files"),
      (#"\bProcessInfo\b"#, "the environment"), (#"\bgetenv\b"#, "the environment"), (#"\bsocket\s*\("#, "sockets"),
      (#"\bprint\s*\("#, "output"),
    ]
    for file in SourceTree.files(below: "Sources/\(target)") {
      let isMathematics = mathematics.contains { file.path.hasSuffix($0) }
      for module in SourceTree.imports(of: file) where !module.hasPrefix("Virga") && !isMathematics {
        #expect(pureImports.contains(module), "\(file.path) imports \(module)")
      }
      for (line, text) in SourceTree.code(of: file) {
        for ban in bans where text.range(of: ban.pattern, options: .regularExpression) != nil {
          Issue.record("\(file.path):\(line) uses \(ban.what): \(text)")
        }
      }
    }
  }

  private func packageDump() throws -> [String: Any] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("virga-dump-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: scratch) }
    process.arguments = [
      // The whole manifest, also where only some targets are being tested.
      "-u", "VIRGA_ONLY", "swift", "package", "--package-path", SourceTree.root.path, "--scratch-path", scratch.path,
      "dump-package",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = Pipe()
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
  }
}
