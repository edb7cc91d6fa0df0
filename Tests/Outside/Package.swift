// swift-tools-version: 6.2
import PackageDescription

/// Another developer's package: it uses only the library of this one.
let package = Package(
    name: "outside",
    dependencies: [.package(name: "credmgr", path: "../..")],
    targets: [
        .executableTarget(
            name: "outside",
            dependencies: [.product(name: "Credentials", package: "credmgr")],
            swiftSettings: [.swiftLanguageMode(.v6)])
    ])
