// swift-tools-version: 6.2
import PackageDescription

// Apps see products only: nothing here imports a target of the package above that is not one.

let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "Examples",
  products: [
    .executable(name: "lanternly", targets: ["lanternly"]),
    .executable(name: "sample-export", targets: ["sample-export"]),
  ],
  dependencies: [.package(name: "virga", path: "..")],
  targets: [
    .systemLibrary(name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"])]),
    .systemLibrary(name: "CDigest", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .target(
      name: "LanternlyCore",
      dependencies: [
        "CArchive", "CDigest",
        .product(name: "CloudKit", package: "virga"),
        .product(name: "VirgaSQLite", package: "virga"),
        .product(name: "VirgaCommandLine", package: "virga"),
        .product(name: "VirgaDevices", package: "virga"),
      ],
      swiftSettings: strict),
    .executableTarget(name: "lanternly", dependencies: ["LanternlyCore"], swiftSettings: strict),
    .executableTarget(
      name: "sample-export",
      dependencies: ["LanternlyCore", .product(name: "VirgaCommandLine", package: "virga")], swiftSettings: strict),
    .testTarget(
      name: "LanternlyTests",
      dependencies: [
        "LanternlyCore", "lanternly", "sample-export", .product(name: "virga", package: "virga"),
        .product(name: "VirgaCommandLine", package: "virga"),
      ],
      swiftSettings: strict),
  ]
)
