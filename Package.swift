// swift-tools-version: 6.2
import PackageDescription

/// Settings of every target of the product: Swift 6 mode, each warning an error, and strict memory safety, so
/// that every touch of C memory is marked `unsafe` where it happens.
let strict: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Tests keep the language mode and the warnings; they touch C only to arrange the world around the product.
let testing: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
]

func source(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: strict)
}

func plugin(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Plugins/\(name)", swiftSettings: strict)
}

/// A header-only C module: no code of its own, nothing linked; its library, if any, is opened at first use.
func header(_ name: String) -> Target {
    .systemLibrary(name: name)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: testing)
}

let package = Package(
    name: "credmgr",
    products: [
        .library(name: "Credentials", targets: ["Credentials", "CredentialCore"]),
        .executable(name: "credmgr", targets: ["credmgr"]),
    ],
    targets: [
        // C boundaries
        .target(name: "CStartup"),
        header("CLinux"),
        header("CLibSecret"),
        header("CLibCurl"),
        header("CLibCrypto"),
        header("CMicroHTTPD"),
        header("CQRencode"),

        // The domain and the protocol: no C, no input or output
        // Reading decimals needs libm, which nothing else brings in.
        .target(name: "StrictJSON", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),
        source("CredentialCore", ["StrictJSON"]),
        source("OAuth", ["CredentialCore", "StrictJSON"]),

        // Adapters of providers
        plugin("GenericOAuth2Adapter", ["CredentialCore", "OAuth", "StrictJSON"]),
        plugin("AzureB2CAdapter", ["CredentialCore", "OAuth", "StrictJSON"]),

        // Adapters of the machine
        source("LinuxPlatform", ["CLinux", "CredentialCore"]),
        source("LocalFiles", ["LinuxPlatform", "CredentialCore", "StrictJSON"]),
        source("SecretServiceStore", ["CLibSecret", "LinuxPlatform", "CredentialCore"]),
        source("EncryptedFileStore", ["LinuxPlatform", "LocalFiles", "CredentialCore", "StrictJSON"]),
        source("KernelKeyringCache", ["CLinux", "CredentialCore", "StrictJSON"]),
        source("CurlTransport", ["CLibCurl", "LinuxPlatform", "CredentialCore"]),
        source("CryptoSupport", ["CLibCrypto", "LinuxPlatform", "CredentialCore", "StrictJSON"]),
        source("LoopbackHTTP", ["CMicroHTTPD", "LinuxPlatform", "CredentialCore"]),
        source("QRCodes", ["CQRencode", "LinuxPlatform", "CredentialCore"]),
        source("DemoProvider", ["LoopbackHTTP", "CryptoSupport", "CredentialCore", "StrictJSON"]),

        // For Swift programs: the account store, and an example of its use
        source(
            "Credentials",
            [
                "CredentialCore", "OAuth", "StrictJSON", "GenericOAuth2Adapter", "AzureB2CAdapter", "LinuxPlatform",
                "LocalFiles", "SecretServiceStore", "EncryptedFileStore", "KernelKeyringCache", "CurlTransport",
                "CryptoSupport", "ProviderHost",
            ]),
        .executableTarget(
            name: "example-task-list", dependencies: ["Credentials", "CredentialCore"],
            path: "Sources/ExampleTaskList",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),

        // Adapters that others bring
        source("ProviderHost", ["CredentialCore", "OAuth", "StrictJSON", "LinuxPlatform"]),

        // The command line
        source(
            "CredmgrCommands",
            ["CredentialCore", "OAuth", "StrictJSON", "LinuxPlatform", "ProviderHost"]),
        .executableTarget(
            name: "credmgr",
            dependencies: [
                "CStartup", "CredmgrCommands", "CredentialCore", "GenericOAuth2Adapter", "AzureB2CAdapter",
                "LinuxPlatform", "LocalFiles", "SecretServiceStore", "EncryptedFileStore", "KernelKeyringCache",
                "CurlTransport",
                "CryptoSupport", "LoopbackHTTP", "QRCodes", "DemoProvider", "ProviderHost", "StrictJSON",
            ],
            swiftSettings: strict),

        // Tests. TestSupport starts the real keyrings and servers; Tests/Fixtures holds the corpora.
        .target(
            name: "TestSupport", dependencies: ["CredentialCore", "StrictJSON"], path: "Tests/TestSupport",
            swiftSettings: testing),
        // What scripts/fuzz runs for hours and FuzzTests for a moment.
        .target(
            name: "FuzzTargets",
            dependencies: [
                "AzureB2CAdapter", "CredentialCore", "CredmgrCommands", "CryptoSupport", "CurlTransport",
                "EncryptedFileStore", "GenericOAuth2Adapter", "LinuxPlatform", "LoopbackHTTP", "OAuth",
                "ProviderHost",
                "StrictJSON",
            ],
            path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: testing),
        tests("FuzzTests", ["FuzzTargets"]),
        tests("StrictJSONTests", ["StrictJSON"]),
        tests("CredentialCoreTests", ["CredentialCore", "StrictJSON", "CryptoSupport", "TestSupport"]),
        tests("OAuthTests", ["OAuth", "CredentialCore", "StrictJSON", "CryptoSupport", "TestSupport"]),
        tests(
            "AdapterTests",
            [
                "GenericOAuth2Adapter", "AzureB2CAdapter", "OAuth", "CredentialCore", "StrictJSON", "CryptoSupport",
                "CurlTransport", "LinuxPlatform", "DemoProvider", "TestSupport",
            ]),
        tests(
            "PlatformTests",
            [
                "CLinux", "LinuxPlatform", "LocalFiles", "KernelKeyringCache", "CredentialCore", "StrictJSON",
                "TestSupport",
            ]),
        tests("CryptoSupportTests", ["CryptoSupport", "CredentialCore", "StrictJSON", "TestSupport"]),
        tests(
            "StoreTests",
            [
                "SecretServiceStore", "EncryptedFileStore", "LocalFiles", "LinuxPlatform", "CryptoSupport",
                "CredentialCore", "StrictJSON", "TestSupport",
            ]),
        tests(
            "HTTPTests",
            [
                "CurlTransport", "LoopbackHTTP", "DemoProvider", "CryptoSupport", "CredentialCore", "StrictJSON",
                "LinuxPlatform", "TestSupport",
            ]),
        tests(
            "CommandTests",
            [
                "CredmgrCommands", "GenericOAuth2Adapter", "AzureB2CAdapter", "CredentialCore", "QRCodes",
                "StrictJSON",
                "TestSupport",
            ],
            exclude: ["Snapshots"]),
        tests(
            "ProviderHostTests",
            [
                "ProviderHost", "GenericOAuth2Adapter", "AzureB2CAdapter", "DemoProvider", "CryptoSupport",
                "LinuxPlatform", "CurlTransport", "LoopbackHTTP", "CredentialCore", "StrictJSON", "credmgr",
                "TestSupport",
            ]),
        tests(
            "SecretServiceFaultTests",
            [
                "credmgr", "DemoProvider", "CryptoSupport", "LinuxPlatform", "CredentialCore", "StrictJSON",
                "TestSupport",
            ]),
        tests(
            "StoreCommandTests",
            [
                "credmgr", "EncryptedFileStore", "SecretServiceStore", "LocalFiles", "KernelKeyringCache",
                "CryptoSupport", "LinuxPlatform", "CredmgrCommands", "CredentialCore", "StrictJSON", "TestSupport",
            ]),
        tests(
            "EndToEndTests",
            [
                "credmgr", "DemoProvider", "OAuth", "CryptoSupport", "LinuxPlatform", "LoopbackHTTP",
                "CredentialCore",
                "StrictJSON", "TestSupport",
            ]),
        tests(
            "LibraryTests",
            [
                "Credentials", "example-task-list", "DemoProvider", "CryptoSupport", "LinuxPlatform",
                "CredentialCore",
                "StrictJSON", "TestSupport",
            ]),
        tests(
            "RaceTests",
            [
                "credmgr", "DemoProvider", "CryptoSupport", "KernelKeyringCache", "LinuxPlatform", "CredentialCore",
                "StrictJSON", "TestSupport",
            ],
            exclude: ["Support/faults.c"]),
    ]
)

// libFuzzer needs flags that only its own build has: scripts/fuzz.
if Context.environment["CREDMGR_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "credmgr-fuzz", dependencies: ["FuzzTargets"], path: "Tests/FuzzDriver", swiftSettings: testing))
}
