// swift-tools-version: 6.2
import PackageDescription

// Arrows point one way: model ← wire ← (server | sync) ← shells ← programs.
// Tests/TidyTests reads this file and every import, and fails on an arrow that points the wrong way.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

let package = Package(
  name: "virga",
  products: [
    .executable(name: "virga", targets: ["virga"]),
    .library(name: "CloudKit", targets: ["CloudKit"]),
    .library(name: "CloudKitMerge", targets: ["CloudKitMerge"]),
    .library(name: "VirgaSQLite", targets: ["VirgaSQLite"]),
    .library(name: "VirgaDevices", targets: ["VirgaDevices"]),
    .library(name: "VirgaCommandLine", targets: ["VirgaCommandLine"]),
  ],
  targets: [
    // C libraries of the system.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CSodium", pkgConfig: "libsodium", providers: [.apt(["libsodium-dev"])]),

    // Both sides.
    module("VirgaModel"),
    module("VirgaWire", ["VirgaModel"]),
    module("VirgaSchema", ["VirgaModel"]),
    module("VirgaMerge", ["VirgaModel"]),
    module("VirgaAuth", ["VirgaModel", "VirgaWire", "COpenSSL"]),
    module("VirgaSQLite", ["CSQLite"]),
    module("VirgaCommandLine"),

    // Server side.
    module("VirgaServer", ["VirgaModel", "VirgaWire", "VirgaSchema"]),
    module("VirgaServerSQLite", ["VirgaModel", "VirgaServer", "VirgaSQLite", "CLinux"]),
    module(
      "VirgaHTTP", ["VirgaModel", "VirgaWire", "VirgaSchema", "VirgaAuth", "VirgaServer", "COpenSSL", "CLinux"]),

    // Client side.
    module("VirgaSync", ["VirgaModel", "VirgaWire"]),
    module("VirgaAccounts", ["VirgaModel", "VirgaWire", "VirgaAuth", "CSodium"]),
    module("VirgaPredicates", ["VirgaModel"]),
    module(
      "VirgaCloudKit",
      ["VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts", "VirgaSync", "VirgaPredicates", "CCurl"]),
    module("CloudKit", ["VirgaCloudKit", "VirgaPredicates"]),
    module("VirgaDevices", ["VirgaModel", "VirgaAuth", "VirgaAccounts", "VirgaCloudKit"]),
    module("CloudKitMerge", ["VirgaModel", "VirgaMerge", "VirgaCloudKit"]),

    // Programs.
    .executableTarget(
      name: "virga",
      dependencies: [
        "VirgaModel", "VirgaWire", "VirgaSchema", "VirgaAuth", "VirgaAccounts", "VirgaServer", "VirgaServerSQLite",
        "VirgaHTTP", "VirgaCloudKit", "VirgaCommandLine", "CLinux",
      ],
      swiftSettings: strict),

    // Apps as they are written for Apple's systems, in the language modes of both; the sources are the same files.
    .executableTarget(
      name: "samples-swift5", dependencies: ["CloudKit"], path: "Tests/Samples",
      swiftSettings: [.swiftLanguageMode(.v5)]),
    .executableTarget(
      name: "samples-swift6", dependencies: ["CloudKit"], path: "Tests/SamplesInSwift6",
      swiftSettings: [.swiftLanguageMode(.v6)]),

    // What tests and measurements share.
    .target(
      name: "TestSupport", dependencies: ["CLinux"], path: "Tests/Support", exclude: ["Messages"], swiftSettings: strict
    ),

    // Measurements.
    .target(name: "Allocations", path: "Benchmarks/Allocations"),
    .executableTarget(
      name: "bench",
      dependencies: [
        "VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts", "VirgaServer", "VirgaServerSQLite", "VirgaHTTP",
        "CSQLite", "CLinux",
        "Allocations", "TestSupport",
      ],
      path: "Benchmarks", exclude: ["Allocations", "Client", "Peers", "SlowDisk", "thresholds.json"],
      swiftSettings: strict),
    .executableTarget(
      name: "bench-client",
      dependencies: ["VirgaAuth", "VirgaAccounts", "VirgaCloudKit", "VirgaSQLite", "Allocations"],
      path: "Benchmarks/Client", swiftSettings: strict),

    // Tests. Each library has a target, but for four: `VirgaAccounts` is tested with `VirgaAuth`, whose keys and messages it
    // stands on; `VirgaServerSQLite` with `VirgaServer`, since one suite holds both stores to one contract; `VirgaDevices`
    // and `CloudKitMerge` with `CloudKit`, whose server and devices their tests need.
    tests("ModelTests", ["VirgaModel"]),
    tests("AuthTests", ["VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts"]),
    tests("SQLiteTests", ["TestSupport", "VirgaSQLite"]),
    tests("WireTests", ["TestSupport", "VirgaModel", "VirgaWire"], exclude: ["Fixtures"]),
    tests("MergeTests", ["TestSupport", "VirgaModel", "VirgaMerge"]),
    tests("SchemaTests", ["TestSupport", "VirgaModel", "VirgaSchema"], exclude: ["Fixtures"]),
    tests(
      "ServerTests",
      [
        "TestSupport", "VirgaModel", "VirgaWire", "VirgaSchema", "VirgaServer", "VirgaSQLite", "VirgaServerSQLite",
        "CSQLite",
      ], exclude: ["Fixtures"]),
    tests(
      "HTTPTests",
      [
        "TestSupport", "VirgaModel", "VirgaWire", "VirgaSchema", "VirgaAuth", "VirgaAccounts", "VirgaServer",
        "VirgaHTTP",
        "CLinux",
      ]),
    tests(
      "CloudKitTests",
      [
        "TestSupport", "VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts", "VirgaSchema", "VirgaServer",
        "VirgaHTTP",
        "VirgaSync", "VirgaPredicates", "VirgaCloudKit", "CloudKit", "VirgaMerge", "CloudKitMerge", "VirgaDevices",
      ]),
    tests("PredicateTests", ["TestSupport", "VirgaModel", "VirgaPredicates"]),
    tests("SyncTests", ["TestSupport", "VirgaModel", "VirgaSync"]),
    tests(
      "EndToEndTests",
      [
        "TestSupport", "VirgaModel", "VirgaWire", "VirgaAuth", "VirgaAccounts", "VirgaSQLite", "VirgaCloudKit",
        "CloudKit",
        "virga",
        "samples-swift5",
        "samples-swift6",
      ]),
    tests("CommandLineTests", ["TestSupport", "VirgaCommandLine"]),
    tests("TidyTests", [], exclude: ["undocumented.json"]),
  ]
)

// `VIRGA_ONLY=WireTests swift test` builds those test targets alone, and what they need.
if let names = Context.environment["VIRGA_ONLY"]?.split(separator: ",").map(String.init) {
  let all = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
  var wanted: Set<String> = []
  func want(_ name: String) {
    guard let target = all[name], wanted.insert(name).inserted else { return }
    for case .byNameItem(let dependency, _) in target.dependencies { want(dependency) }
  }
  names.forEach(want)
  package.targets.removeAll { !wanted.contains($0.name) }
  package.products.removeAll { product in
    let targets = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
    return !targets.allSatisfy(wanted.contains)
  }
}
