/// One reader of foreign bytes, and the property that must hold for any bytes.
///
/// To add one: a file in `Targets` with an extension that makes it, its name in ``all``, and a few inputs that are
/// accepted in `Corpus/NAME`.
package struct FuzzTarget: Sendable {
    /// Its name, which is also that of its folder in `Corpus`.
    package let name: String
    /// Reads bytes. A crash, a leak, a failed `require` and an endless run are findings.
    package let read: @Sendable ([UInt8]) -> Void

    /// Makes a target.
    init(_ name: String, _ read: @escaping @Sendable ([UInt8]) -> Void) {
        self.name = name
        self.read = read
    }

    /// All targets.
    package static let all: [FuzzTarget] = [
        .json, .commentedJSON, .tokenReply, .endpointReply, .deviceAuthorization, .discovery, .keySet,
        .compactToken,
        .redirect, .challenge, .form, .webAddress, .foreignText, .times, .base64, .propertyList, .settings,
        .typeFile,
        .configuration, .record, .index, .tokenSet, .eventLine, .fileStore, .storeItems,
        .pluginManifest, .pluginReply, .resourceDiscovery, .registrationReply, .signInReply, .clientReply,
        .proofNonce, .cachedToken, .refreshAnswer, .refreshRequest, .preset, .replyHead, .formFields,
        .gitCredential, .foreignFile,
    ]
}

/// Ends the process, which libFuzzer takes for a finding, unless a property holds.
func require(_ holds: Bool, _ property: String) {
    if !holds { fatalError("does not hold: \(property)") }
}

extension Array<UInt8> {
    /// The bytes as text, with invalid UTF-8 replaced.
    var text: String { String(decoding: self, as: UTF8.self) }
}
