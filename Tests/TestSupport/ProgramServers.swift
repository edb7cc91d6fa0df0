import Foundation

/// A server that is every kind of registry, with one thing in each, and accepts only one token: Python and npm
/// packages, crates, Go and Terraform modules, images, a Kubernetes API.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class Registries: Sendable {
    private struct Facts: Decodable {
        let port: UInt16, tls_port: UInt16, certificate: String, log: String
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts it.
    ///
    /// - Parameter token: the token that it accepts.
    /// - Throws: ``ServerFailure`` with its output.
    public init(token: String) throws {
        script = try ServerScript("registries", environment: ["TOKEN": token])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    deinit { stop() }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// Host and port without TLS.
    public var plain: String { "127.0.0.1:\(facts.port)" }
    /// Host and port with TLS.
    public var encrypted: String { "127.0.0.1:\(facts.tls_port)" }
    /// The certificate of ``encrypted``.
    public var certificate: String { facts.certificate }

    /// The requests so far: `METHOD PATH STATUS SCHEME`, the scheme by which the token came or `None`.
    public var requests: [String] {
        let text = (try? String(contentsOfFile: facts.log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}

/// A real Dovecot that lets in whose tokens an introspection endpoint calls active: IMAP, and submission to a sink.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class Dovecot: Sendable {
    private struct Facts: Decodable {
        let imaps: UInt16, submission: UInt16, certificate: String, delivered: String
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts it.
    ///
    /// - Parameter introspection: the endpoint (RFC 7662); its answer names the user as `email`.
    /// - Throws: ``ServerFailure`` with its output; when it is not installed, with the words "run scripts/setup
    ///   test".
    public init(introspection: String) throws {
        script = try ServerScript("dovecot", environment: ["INTROSPECTION": introspection])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    deinit { stop() }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// Host and port of IMAP with TLS.
    public var imaps: String { "localhost:\(facts.imaps)" }
    /// Host and port of submission with STARTTLS.
    public var submission: String { "localhost:\(facts.submission)" }
    /// Its certificate.
    public var certificate: String { facts.certificate }
    /// The mail that was sent through it.
    public var delivered: String { (try? String(contentsOfFile: facts.delivered, encoding: .utf8)) ?? "" }
}

/// A GitHub Enterprise Server with TLS, as far as a device sign-in and its API go.
///
/// It ends with ``stop()``, with the last reference, and with the test process.
public final class GitHubServer: Sendable {
    private struct Facts: Decodable {
        let port: UInt16, certificate: String, log: String
    }

    private let script: ServerScript
    private let facts: Facts

    /// Starts it.
    ///
    /// - Throws: ``ServerFailure`` with its output.
    public init() throws {
        script = try ServerScript("github-enterprise", environment: [:])
        facts = try JSONDecoder().decode(Facts.self, from: script.facts)
    }

    deinit { stop() }

    /// Ends the server; a second call has no effect.
    public func stop() { script.stop() }

    /// Host and port.
    public var host: String { "127.0.0.1:\(facts.port)" }
    /// Its certificate.
    public var certificate: String { facts.certificate }

    /// The requests so far: `METHOD PATH STATUS`.
    public var requests: [String] {
        let text = (try? String(contentsOfFile: facts.log, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
