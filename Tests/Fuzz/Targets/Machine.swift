import CredentialCore
import FastToken
import OAuth
import StrictJSON

@testable import Commands
@testable import CurlTransport
@testable import LoopbackHTTP

/// A cache with a memo, and everything else the same token.
private struct TwoEntries: AccessTokenCache {
    let memo: [UInt8], token: [UInt8]

    func read(_ name: CacheKey) -> [UInt8]? { if case .memo = name { memo } else { token } }
    func write(_ entry: [UInt8], name: CacheKey, seconds: Int64) {}
    func remove(_ name: CacheKey) {}
    func removeAll(ofOwner name: CacheKey) {}
    func removeTokens() {}
    func check() {}
}

private struct NoFiles: FileStamps {
    func state(of path: String) -> FileStamp? { nil }
    var time: Int64 { 0 }
}

private struct FixedClock: WallClock {
    let now = Timestamp(epochSeconds: 1_800_000_000)
}

extension FuzzTarget {
    /// The entries of the cache, opened: how long the memo is, the memo, then the token.
    static let cachedToken = FuzzTarget("cached-token") { bytes in
        let memo = Array(bytes.dropFirst().prefix(Int(bytes.first ?? 0)))
        let entries = TwoEntries(memo: memo, token: Array(bytes.dropFirst(memo.count + 1)))
        let calls = ["token", "json", "header", "env"].map { ["token", "--type", "Tasks", "--format", $0] }
        for words in calls + [["kubernetes"], ["git-credential", "get"]] {
            let answer = FastToken.answer(words, message: { [] }) {
                FastPathEnvironment(
                    dataHome: "/d", typeFolders: ["/t"], configurationFile: "/c", variable: { _ in nil },
                    tokenCache: entries, fileStates: NoFiles(), clock: FixedClock())
            }
            require(answer?.last == 0x0A || answer == nil, "a token ends its line")
        }
    }

    /// The answer of the refresh worker.
    static let refreshAnswer = FuzzTarget("refresh-answer") { bytes in
        if let outcome = try? RefreshWorkerProtocol.decodeAnswer(bytes) {
            let again = try? RefreshWorkerProtocol.decodeAnswer(RefreshWorkerProtocol.encode(outcome))
            require(again?.token == outcome.token, "an answer is written as it is read")
        }
    }

    /// The request to the refresh worker.
    static let refreshRequest = FuzzTarget("refresh-request") { bytes in
        guard let request = try? RefreshWorkerProtocol.decodeRequest(bytes) else { return }
        let again = try? RefreshWorkerProtocol.decodeRequest(RefreshWorkerProtocol.encode(request))
        require(
            again?.account == request.account && again?.type == request.type && again?.key == request.key,
            "a request is written as it is read")
    }

    /// The text that git writes to its helper.
    static let gitCredential = FuzzTarget("git-credential") { bytes in
        guard let message = try? GitCredentialMessage(bytes) else { return }
        if let destination = message.destination {
            require(
                !destination.host.isEmpty && destination.host.utf8.allSatisfy { $0 > 0x20 },
                "a place to go to has a plain host")
        }
        for challenge in AuthenticationChallenge.parse(message.list("wwwauth[]")) {
            require(!challenge.scheme.isEmpty, "a challenge has a scheme")
        }
    }

    /// The files of other programs, and our own exports.
    static let foreignFile = FuzzTarget("foreign-file") { bytes in
        let found = try? CredentialImporters.read(bytes) { () throws(CredentialError) in
            throw CredentialError(.storeUnavailable, "no keyring")
        }
        _ = GVariantText.strings(in: String(decoding: bytes, as: UTF8.self))
        for signIn in found?.signIns ?? [] {
            switch signIn.token {
            case .refresh(let token), .access(let token): require(!token.isEmpty, "a sign-in has a token")
            }
        }
        if let object = (try? JSONValue.parse(bytes))?.object, let archive = try? AccountExport(json: object) {
            require((try? AccountExport(json: archive.json)) == archive, "an archive is written as it is read")
        }
    }

    /// A preset's file.
    static let preset = FuzzTarget("preset") { bytes in
        guard let preset = try? Preset(name: "p", bytes, place: "p.json") else { return }
        require(preset.definition["client_id"] == nil, "a preset has nobody's client")
    }

    /// Status line and header fields of a reply.
    static let replyHead = FuzzTarget("reply-head") { bytes in
        var head = ResponseHead()
        for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
            guard let isComplete = try? head.take(Array(line) + [0x0A]) else { return }
            require(isComplete == head.isComplete, "a head tells when it is complete")
            if isComplete { break }
        }
        require(!head.isComplete || (200..<1_000).contains(head.status), "a complete head is of a final reply")
        for field in head.fields {
            require(!field.name.isEmpty && !field.name.contains(" "), "a field has a name")
            require(
                field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "no control gets through")
        }
    }

    /// The query of the loopback listener.
    static let formFields = FuzzTarget("form-fields") { bytes in
        let fields = FormFields(decoding: bytes)
        require(FormFields(decoding: fields.encoded().utf8) == fields, "what is decoded is encoded as the same")
    }
}
