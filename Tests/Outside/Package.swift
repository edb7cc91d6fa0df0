// swift-tools-version: 6.2
import PackageDescription

/// A package of somebody else's: all that it has of this one is the library.
let package = Package(
    name: "outside",
    dependencies: [.package(name: "credmgr", path: "../..")],
    targets: [
        .executableTarget(
            name: "outside",
            dependencies: [.product(name: "Credentials", package: "credmgr")],
            swiftSettings: [.swiftLanguageMode(.v6)])
    ])
