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

func source(_ name: String, _ dependencies: [Target.Dependency] = [], in folder: String? = nil) -> Target {
    .target(
        name: name, dependencies: dependencies, path: folder.map { "Sources/\($0)/\(name)" }, swiftSettings: strict)
}

/// A target that alone sees a C library: the header stands in its folder. The library is opened at first use, unless it
/// has an archive that is linked.
func boundary(
    _ name: String, header: String, _ dependencies: [Target.Dependency], in folder: String? = nil,
    archive: String? = nil
) -> [Target] {
    let path = (folder.map { "Sources/\($0)/" } ?? "Sources/") + name
    return [
        .systemLibrary(name: header, path: "\(path)/\(header)"),
        .target(
            name: name, dependencies: [.target(name: header)] + dependencies, path: path, exclude: [header],
            swiftSettings: strict, linkerSettings: archive.map { [.linkedLibrary(":\($0)")] }),
    ]
}

func plugin(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Plugins/\(name)", swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: testing)
}

/// The program, from its formats to its command line; an arrow points down this list only.
let sources: [Target] =
    [
        // Parts of the Swift runtime that the command replaces
        .target(name: "CStartup"),

        // `credmgr __confine`, which runs plugins: C, entered before the Swift runtime
        .target(name: "Confine"),

        // Formats. Reading decimals needs libm, which nothing else brings in.
        .target(name: "StrictJSON", swiftSettings: strict, linkerSettings: [.linkedLibrary("m")]),

        // The domain and the protocol: no C, no input or output
        source("CredentialCore", ["StrictJSON"]),
        source("PropertyLists", ["CredentialCore", "StrictJSON"]),
        source("OAuth", ["CredentialCore", "StrictJSON"]),

        // A token from the cache, and how a token is printed
        source("FastToken", ["CredentialCore", "StrictJSON"]),

        // Access tokens for sandboxes: the configuration, the languages of the socket, the rules; over ports
        source("Broker", ["CredentialCore", "StrictJSON"]),

        // Groups that several hosts share: the protocol, over a port
        source("SharedGroups", ["CredentialCore", "StrictJSON"]),

        // Adapters of providers
        plugin("GenericOAuth2Adapter", ["CredentialCore", "OAuth", "StrictJSON"]),
        plugin("AzureB2CAdapter", ["CredentialCore", "OAuth", "PropertyLists", "StrictJSON"]),
    ]
    // Adapters of the machine
    + boundary("Platform", header: "CLinux", ["CredentialCore"])
    + [
        // The relay, which joins a sandbox to the socket of a broker
        source("Relay", ["FastToken", "Platform", "CredentialCore", "StrictJSON"]),
        source(
            "LocalFiles", ["Broker", "SharedGroups", "Sodium", "Platform", "CredentialCore", "StrictJSON"],
            in: "Stores"),
        source("EncryptedFileStore", ["Platform", "LocalFiles", "CredentialCore", "StrictJSON"], in: "Stores"),
        source("EtcdCluster", ["SharedGroups", "Platform", "CredentialCore"], in: "Stores"),
        source("SealedCache", ["Sodium", "Platform", "CredentialCore"], in: "Stores"),
    ]
    + boundary("Sodium", header: "CSodium", ["Platform"], in: "Libraries", archive: "libsodium.a")
    + boundary("SecretServiceStore", header: "CLibSecret", ["Platform", "CredentialCore"], in: "Stores")
    + boundary("CurlTransport", header: "CLibCurl", ["Platform", "CredentialCore"], in: "Libraries")
    + boundary(
        "CryptoSupport", header: "CLibCrypto", ["Sodium", "Platform", "CredentialCore", "StrictJSON"],
        in: "Libraries")
    + boundary("LoopbackHTTP", header: "CMicroHTTPD", ["Platform", "CredentialCore"], in: "Libraries")
    + boundary("QRCodes", header: "CQRencode", ["Platform", "CredentialCore"], in: "Libraries")
    + [
        source(
            "DemoProvider", ["LoopbackHTTP", "CryptoSupport", "Platform", "CredentialCore", "StrictJSON"],
            in: "Demo"),

        // Adapters that others bring
        source("PluginHost", ["CredentialCore", "OAuth", "StrictJSON", "Platform"]),

        // This machine, put together once for the command and the library
        source(
            "LocalMachine",
            [
                "Broker", "Sodium",
                "CredentialCore", "GenericOAuth2Adapter", "AzureB2CAdapter", "Platform", "LocalFiles",
                "SharedGroups", "EtcdCluster", "SecretServiceStore", "EncryptedFileStore", "SealedCache",
                "CurlTransport", "CryptoSupport",
                "LoopbackHTTP", "PluginHost", "Relay",
            ]),

        // For Swift programs: the account store, and an example of its use
        source(
            "Credentials",
            [
                "CredentialCore", "OAuth", "StrictJSON", "LocalMachine", "Platform", "PluginHost",
            ]),
        .executableTarget(
            name: "example-task-list", dependencies: ["Credentials", "CredentialCore", "StrictJSON"],
            path: "Sources/ExampleTaskList",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),

        // The command line
        source("CommandLine", ["CredentialCore"]),
        source(
            "Commands",
            [
                "Broker", "CommandLine", "FastToken", "CredentialCore", "OAuth", "StrictJSON", "Platform",
                "PluginHost",
                "Relay",
            ]),
        .executableTarget(
            name: "credmgr",
            dependencies: [
                "CStartup", "Confine", "Broker", "FastToken", "Commands", "CredentialCore", "AzureB2CAdapter",
                "Platform",
                "LocalMachine", "Relay",
                "SealedCache", "LoopbackHTTP", "QRCodes", "DemoProvider", "StrictJSON",
            ],
            swiftSettings: strict),
    ]

/// The tests, each target named for what it tests.
let testTargets: [Target] = [
    // Tests. TestSupport starts the real keyrings and servers; Tests/Fixtures holds the corpora.
    .target(
        name: "TestSupport", dependencies: ["CLinux", "CredentialCore", "StrictJSON"], path: "Tests/TestSupport",
        swiftSettings: testing),
    // A machine in memory: a double of every port.
    .target(
        name: "TestPorts", dependencies: ["CredentialCore", "StrictJSON"], path: "Tests/TestPorts",
        swiftSettings: testing),
    // The command on that machine: a double of each port that only commands have.
    .target(
        name: "TestCommands",
        dependencies: [
            "Commands", "CommandLine", "PluginHost", "Platform", "Relay", "CredentialCore", "TestPorts",
        ],
        path: "Tests/TestCommands", swiftSettings: testing),
    // The input of an adapter, with a provider whose responses a test writes.
    .target(
        name: "TestAdapters",
        dependencies: ["OAuth", "CryptoSupport", "CredentialCore", "StrictJSON", "TestPorts"],
        path: "Tests/TestAdapters", swiftSettings: testing),
    // Hosts, a cluster and a provider under a seed: what scripts/simulate runs a million times and the tests a thousand.
    .target(
        name: "Simulation", dependencies: ["SharedGroups", "CredentialCore", "StrictJSON", "TestPorts"],
        path: "Tests/Simulation", exclude: ["Mutants.toml"], swiftSettings: testing),
    // The targets that scripts/fuzz runs for hours and FuzzTests for a moment.
    .target(
        name: "FuzzTargets",
        dependencies: [
            "PropertyLists", "AzureB2CAdapter", "CredentialCore", "Commands", "CryptoSupport",
            "CurlTransport", "FastToken",
            "EncryptedFileStore", "GenericOAuth2Adapter", "Platform", "LoopbackHTTP", "OAuth",
            "PluginHost",
            "StrictJSON",
        ],
        path: "Tests/Fuzz", exclude: ["Corpus"], swiftSettings: testing),
    tests("FuzzTests", ["FuzzTargets"]),
    // The model of a protocol, by SPIN.
    tests("ModelTests", ["TestSupport"]),
    tests("StrictJSONTests", ["StrictJSON"]),
    tests(
        "CredentialCoreTests",
        ["PropertyLists", "CredentialCore", "StrictJSON", "CryptoSupport", "TestPorts", "TestSupport"]),
    tests(
        "OAuthTests",
        ["OAuth", "CredentialCore", "StrictJSON", "CryptoSupport", "TestAdapters", "TestPorts", "TestSupport"]),
    tests(
        "AzureB2CAdapterTests",
        [
            "AzureB2CAdapter", "CredentialCore", "CryptoSupport", "CurlTransport", "DemoProvider", "OAuth",
            "Platform", "PropertyLists", "StrictJSON", "TestAdapters", "TestPorts", "TestSupport",
        ]),
    tests(
        "GenericOAuth2AdapterTests",
        [
            "GenericOAuth2Adapter", "CredentialCore", "CryptoSupport", "CurlTransport", "DemoProvider", "OAuth",
            "Platform", "PropertyLists", "StrictJSON", "TestAdapters", "TestPorts", "TestSupport",
        ]),
    tests(
        "PropertyListsTests",
        ["PropertyLists", "CredentialCore", "StrictJSON", "TestSupport"]),
    tests(
        "QRCodesTests",
        ["QRCodes", "Commands", "CredentialCore", "TestSupport"]),
    tests(
        "PlatformTests",
        ["CLinux", "Platform", "LocalFiles", "CredentialCore", "StrictJSON", "TestSupport"]),
    tests(
        "LocalFilesTests",
        [
            "Broker", "LocalFiles", "Platform", "CredentialCore", "StrictJSON", "CryptoSupport", "TestPorts",
            "TestSupport",
        ]),
    tests(
        "SharedGroupsTests",
        [
            "SharedGroups", "EtcdCluster", "CurlTransport", "CredentialCore", "StrictJSON", "CryptoSupport",
            "Platform", "Simulation", "Commands", "TestCommands", "TestPorts", "TestSupport",
        ]),
    tests(
        "LocalMachineTests",
        [
            "Broker", "CryptoSupport", "LocalFiles", "LocalMachine", "Platform", "PluginHost", "CredentialCore",
            "StrictJSON", "credmgr",
            "TestSupport",
        ]),
    tests("CryptoSupportTests", ["CryptoSupport", "Sodium", "CredentialCore", "StrictJSON", "TestSupport"]),
    tests(
        "EncryptedFileStoreTests",
        [
            "EncryptedFileStore", "LocalFiles", "Platform", "CryptoSupport", "CredentialCore", "StrictJSON",
            "TestPorts", "TestSupport",
        ]),
    tests(
        "SealedCacheTests",
        ["SealedCache", "LocalFiles", "Platform", "CryptoSupport", "CredentialCore", "StrictJSON", "TestSupport"]),
    tests(
        "SecretServiceStoreTests",
        [
            "SecretServiceStore", "LocalFiles", "Platform", "CryptoSupport", "CredentialCore", "StrictJSON",
            "TestSupport",
        ]),
    tests(
        "CurlTransportTests",
        [
            "CurlTransport", "DemoProvider", "LoopbackHTTP", "CryptoSupport", "CredentialCore", "StrictJSON",
            "Platform", "TestSupport",
        ]),
    tests(
        "LoopbackHTTPTests",
        [
            "DemoProvider", "LoopbackHTTP", "CryptoSupport", "CredentialCore", "StrictJSON", "Platform",
            "TestSupport",
        ]),
    tests(
        "DemoProviderTests",
        [
            "DemoProvider", "LoopbackHTTP", "CryptoSupport", "CredentialCore", "StrictJSON", "Platform",
            "TestSupport",
        ]),
    tests("BrokerTests", ["Broker", "CredentialCore", "StrictJSON", "TestPorts", "TestSupport"]),
    tests("RelayTests", ["Relay", "Platform", "CredentialCore", "StrictJSON", "TestSupport"]),
    tests(
        "FastTokenTests",
        [
            "FastToken", "Commands", "CommandLine", "CredentialCore", "StrictJSON", "TestPorts", "TestSupport",
            "CryptoSupport",
        ]),
    tests(
        "CommandTests",
        [
            "Broker", "Commands", "CommandLine", "GenericOAuth2Adapter", "AzureB2CAdapter", "CredentialCore",
            "CryptoSupport", "FastToken", "OAuth", "Platform", "QRCodes", "StrictJSON", "TestCommands", "TestPorts",
            "TestSupport",
        ],
        exclude: ["Snapshots"]),
    tests(
        "PluginHostTests",
        [
            "CLinux", "PluginHost", "GenericOAuth2Adapter", "AzureB2CAdapter", "DemoProvider", "CryptoSupport",
            "Platform", "CurlTransport", "LoopbackHTTP", "CredentialCore", "StrictJSON", "credmgr",
            "TestSupport",
        ]),
    tests(
        "SecretServiceFaultTests",
        [
            "credmgr", "DemoProvider", "CryptoSupport", "Platform", "CredentialCore", "StrictJSON",
            "TestSupport",
        ]),
    tests(
        "StoreCommandTests",
        [
            "credmgr", "EncryptedFileStore", "SecretServiceStore", "LocalFiles", "SealedCache",
            "CryptoSupport", "Platform", "Commands", "CredentialCore", "StrictJSON", "TestSupport",
        ]),
    tests(
        "EndToEndTests",
        [
            "credmgr", "Credentials", "DemoProvider", "OAuth", "CryptoSupport", "Platform", "LoopbackHTTP",
            "CredentialCore",
            "StrictJSON", "TestSupport",
        ]),
    tests(
        "LibraryTests",
        [
            "Credentials", "credmgr", "example-task-list", "DemoProvider", "CryptoSupport", "LoopbackHTTP",
            "Platform", "CredentialCore",
            "StrictJSON", "TestSupport",
        ]),
    tests(
        "RaceTests",
        [
            "credmgr", "DemoProvider", "CryptoSupport", "Platform", "CredentialCore",
            "StrictJSON", "TestSupport",
        ],
        exclude: ["Support/faults.c"]),
]

let package = Package(
    name: "credmgr",
    products: [
        .library(name: "Credentials", targets: ["Credentials", "CredentialCore", "OAuth", "StrictJSON"]),
        .executable(name: "credmgr", targets: ["credmgr"]),
    ],
    targets: sources + testTargets
)

// libFuzzer needs flags that only its own build has: scripts/fuzz.
if Context.environment["CREDMGR_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "credmgr-fuzz", dependencies: ["FuzzTargets"], path: "Tests/FuzzDriver", swiftSettings: testing))
}

// The simulation as a program of its own, which is fast only as a release build: scripts/simulate, scripts/mutants.
if Context.environment["CREDMGR_SIMULATION"] != nil {
    package.targets.append(
        .executableTarget(
            name: "credmgr-simulation", dependencies: ["Simulation"], path: "Tests/SimulationDriver",
            swiftSettings: testing))
}
