import Glibc

/// A call at a broker's socket: `CREDMGR_SOCK` is set, and no store, configuration or cache of this machine is
/// read.
///
/// This program runs alone in a sandbox, so it reports its errors by itself.
enum SocketCall {
    /// Answers a plain call and ends; comes back for a call that the full program has to answer.
    ///
    /// - Parameter read: returns git's message.
    static func answer(_ call: FastPathArguments, _ path: String, message read: () -> [UInt8]?) {
        // The broker decides the group.
        if call.words.group != nil { return }
        let client = client(path)
        let words = call.words.filled(ProcessEnvironment.variable)
        if let program = call.program { return SocketExec.run(call, words, program, client) }
        do throws(CredentialError) {
            switch call.words.asker {
            case .caller:
                let token = try client.token(
                    words, minValid: call.freshness.minimumValidity, now: SystemClock().now)
                try StandardStream.output.write(try token.bytes(as: call.format))
            case .kubectl:
                try StandardStream.output.write(
                    try client.kubernetes(
                        words, execInfo: ProcessEnvironment.variable(ExecCredential.variable),
                        now: SystemClock().now))
            case .git:
                guard let message = read() else { return }
                try StandardStream.output.write(try git(message, words, client))
            }
        } catch { end(error) }
        _exit(0)
    }

    static func client(_ path: String) -> BrokerClient {
        BrokerClient { line throws(CredentialError) in
            let user = ProcessEnvironment.variable(BrokerClient.userVariable)
            return try BrokerClientSocket.exchange(
                line, at: path, user: user == "" ? nil : user, limit: BrokerClient.replyLimit,
                seconds: BrokerClient.patience)
        }
    }

    /// A server that is not in the broker gets no credential, so that git asks its next helper.
    private static func git(
        _ message: [UInt8], _ words: CallSignature, _ client: BrokerClient
    ) throws(CredentialError) -> [UInt8] {
        do throws(CredentialError) { return try client.git(BrokerClient.gitMembers(of: message), words) } catch {
            guard error.isOriginRefused else { throw error }
            return []
        }
    }

    /// Prints an error in the form of the full program, in English, and ends.
    static func end(_ error: CredentialError) -> Never {
        report("error", error.message)
        if let hint = error.hint { report("hint", hint) }
        _exit(error.code.exitStatus)
    }

    static func report(_ kind: String, _ message: String) {
        // Without standard error no place is left for the message.
        try? StandardStream.error.write(
            "credmgr: " + kind + ": " + UntrustedText.shown(message, limit: 4_000) + "\n")
    }
}
