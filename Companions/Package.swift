// swift-tools-version: 6.2
import PackageDescription

// Modules with the names of Apple's, for sources that import them and stay unmodified. They are a package of their own: SwiftPM
// shows every module of a package graph to all of it, so in an app that does not name this package `#if canImport(os)` and its
// like stay false.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "Companions",
  products: [
    .library(name: "os", targets: ["os"]),
    .library(name: "OSLog", targets: ["OSLog"]),
    .library(name: "CoreLocation", targets: ["CoreLocation"]),
    .library(name: "UniformTypeIdentifiers", targets: ["UniformTypeIdentifiers"]),
  ],
  dependencies: [.package(name: "virga", path: "..")],
  targets: [
    .systemLibrary(name: "OSSubmodules"),
    .target(name: "os", dependencies: ["OSSubmodules"], swiftSettings: strict),
    .target(name: "OSLog", dependencies: ["os"], swiftSettings: strict),
    .target(
      name: "CoreLocation", dependencies: [.product(name: "CloudKit", package: "virga")], swiftSettings: strict),
    .target(name: "UniformTypeIdentifiers", swiftSettings: strict),
    .testTarget(
      name: "CompanionTests",
      dependencies: [
        "os", "OSLog", "CoreLocation", "UniformTypeIdentifiers", "log-lines",
        .product(name: "CloudKit", package: "virga"),
      ],
      swiftSettings: strict),
    // Writes one line of each kind, for the tests of what reaches standard error; in the manner of an app, in the mode of Swift 5.
    .executableTarget(
      name: "log-lines",
      dependencies: [
        "os", "OSLog", "CoreLocation", "UniformTypeIdentifiers", .product(name: "CloudKit", package: "virga"),
      ],
      path: "Tests/LogLines", swiftSettings: [.swiftLanguageMode(.v5)]),
  ]
)
