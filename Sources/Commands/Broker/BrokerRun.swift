import Broker
import CredentialCore
import Synchronization

/// One broker that this process serves.
struct BrokerRun: Sendable {
    /// The broker.
    let service: BrokerService
    private let session: CommandSession
    private let server: any BrokerServer
    private let dispatcher: ConnectionDispatcher

    /// The parts of a broker beside its tokens.
    struct Surroundings: Sendable {
        /// The audit log.
        var log: any AuditWriter
        /// Asks the user.
        var consent: any ConsentDecider
        /// Finds out which process connected.
        var callers: any CallerIdentifier
        /// The configuration that applies now, for the parts above.
        var current: CurrentConfiguration
    }

    private let around: Surroundings

    /// The time after which a server without connections ends, in seconds, if systemd has passed its socket.
    private static let idleFromSystemd: Int64 = 600

    /// Opens a broker's socket.
    ///
    /// - Parameters:
    ///   - instance: the broker's name, or `NAME.PID` for `exec --broker`.
    ///   - path: the socket's path, if it is not the usual one.
    ///   - idle: `--idle` in seconds.
    /// - Throws: as ``BrokerHost/open(_:)``; the errors of the log.
    init(
        _ configuration: BrokerConfiguration, instance: String, path: String? = nil, group: String? = nil,
        idle: Int64? = nil, _ around: Surroundings, _ session: CommandSession
    ) throws(CredentialError) {
        let issuer = SessionIssuer(session)
        if configuration.revokesAtEnd { try Self.checkRevocation(configuration, issuer) }
        self.session = session
        self.around = around
        let host = session.context.brokers, clock = session.context.machine.bootClock
        let service = BrokerService(
            configuration,
            BrokerService.Parts(
                issuer: issuer, log: around.log, consent: around.consent,
                file: BrokerFiles(session.context).watched(configuration.name), clock: session.context.clock,
                narrowed: { [current = around.current] in current.put($0) },
                warn: { [notices = session.notices] in notices.warning($0) }))
        self.service = service
        let usual = host.hasPassedSocket && path == nil ? Self.idleFromSystemd : nil
        let isIdle: @Sendable (Int, Int64) -> Int64? = { open, idled in
            let configuration = service.configuration
            // A new start would count 'for' again, from its own first connection.
            let isCounting = configuration.lifetime != nil && service.end != configuration.until
            guard open == 0, !isCounting, let limit = idle ?? configuration.idle ?? usual else { return nil }
            return limit * 1_000 - idled
        }
        let wallClock = session.context.clock
        var plan = BrokerPlan(instance: instance, connections: { service.configuration.connections }) {
            open, idled in
            let left = service.end.map { $0.seconds(since: wallClock.now) * 1_000 }
            if service.hasEnded || (left ?? 1) <= 0 {
                // This end removes the socket, even one of systemd. An idle end leaves it.
                service.finish()
                return 0
            }
            guard let idleLeft = isIdle(open, idled) else { return left }
            return left.map { min($0, idleLeft) } ?? idleLeft
        }
        plan.path = path
        plan.group = group
        plan.isTemporary = instance != configuration.name
        server = try host.open(plan)
        let refuse: @Sendable (String, Caller) -> Void = { service.refuse($0, $1) }
        let boxes = session.context.brokerRecords.boxes
        dispatcher = ConnectionDispatcher(clock: clock, refuse: refuse) {
            var languages = ConnectionDispatcher.Languages()
            let speaks = service.configuration.speak
            if speaks.contains(.oidcAgent) {
                languages.oidcAgent = OIDCAgentConversation(service, boxes: boxes, clock: clock) {
                    service.refuse($0, $1, counts: true)
                }
            }
            if speaks.contains(.credmgr) {
                languages.lines = LineConversation(
                    service, facts: .init(version: Program.version, netns: host.networkNamespace), clock: clock)
            }
            if !service.configuration.clouds.isEmpty {
                languages.http = { secret in
                    HTTPConversation(
                        configuration: { service.configuration }, releaser: service,
                        account: { entry in
                            service.account(of: entry).map { .init(username: $0.username, scope: $0.ownScope) }
                        }, clock: wallClock, time: clock, secret: secret, refuse: refuse)
                }
            }
            return languages
        }
        do throws(CredentialError) { try around.log.write(AuditEvent(.start)) } catch {
            server.close()
            throw error
        }
    }

    /// The socket's path.
    var path: String { server.path }

    /// Serves until the end: a signal, `broker stop`, the configured time, or ``end()``.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func run(signals: Bool) throws(CredentialError) {
        service.whenFinished { [server] in server.end() }
        defer { close() }
        try server.run(signals: signals) { connection in serve(connection) }
    }

    /// Asks ``run(signals:)`` to return.
    func end() { service.finish() }

    private func close() {
        service.finish()
        for rest in EndRevocation.run(service.released()) {
            session.notices.warning(rest.warning)
            if let event = rest.event { write(event) }
        }
        write(AuditEvent(.stop))
        server.close()
    }

    private func write(_ event: AuditEvent) {
        do throws(CredentialError) { try around.log.write(event) } catch { session.notices.warning(error) }
    }

    /// Checks that the provider of each account has revocation. An entry without an account gets no token.
    private static func checkRevocation(
        _ configuration: BrokerConfiguration, _ issuer: SessionIssuer
    ) throws(CredentialError) {
        for entry in configuration.entries {
            guard let account = try? issuer.account(of: entry) else { continue }
            do throws(CredentialError) { try account.checkRevocation() } catch {
                throw error.withHint("credmgr broker set \(configuration.name) --unset revoke_at_end")
            }
        }
    }

    private func serve(_ connection: any AcceptedConnection) {
        do throws(CredentialError) {
            let user = try connection.peerUser(), own = session.context.brokers.user
            let unknown = Caller(uid: user, pid: 0, key: CallerKey(kind: .uid, value: String(user)))
            guard service.allows(unknown, own: own) else { return }
            let caller = try around.callers.caller(ofSocket: connection.number)
            service.noteConnection()
            dispatcher.serve(CheckedConnection(connection, service, caller: caller, own: own), caller: caller)
        } catch { session.notices.warning(error) }
    }
}

extension BrokerRun.Surroundings {
    /// The surroundings of a broker on this machine.
    init(_ configuration: BrokerConfiguration, _ session: CommandSession) {
        let records = session.context.brokerRecords, translations = session.context.console.translations
        let log = records.auditWriter(of: configuration), current = CurrentConfiguration(configuration)
        self.init(
            log: log,
            consent: records.consent(
                for: current, audit: log, text: { $0.text(in: translations) },
                warn: { [notices = session.notices] in notices.warning($0) }),
            callers: records.callers(of: current), current: current)
    }
}
