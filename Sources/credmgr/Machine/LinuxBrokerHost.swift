import Broker
import Commands
import CredentialCore
import FastToken
import Glibc
import Platform

/// The sockets of brokers on this machine.
struct LinuxBrokerHost: BrokerHost {
    private let places: BrokerPlaces
    private let environment: [String: String]

    init(environment: [String: String]) {
        self.environment = environment
        places = BrokerPlaces(runtime: environment["XDG_RUNTIME_DIR"])
    }

    func socketPath(of instance: String) -> String { places.socket(of: instance) }

    func running() throws(CredentialError) -> [(instance: String, process: Int32)] { try places.running() }

    func stop(_ instance: String) throws(CredentialError) -> Bool {
        try places.stop(instance, milliseconds: 10_000)
    }

    func open(_ plan: BrokerPlan) throws(CredentialError) -> any BrokerServer {
        try LinuxBrokerServer(plan, places, passed: plan.path == nil ? passedSocket : nil)
    }

    var hasPassedSocket: Bool { passedSocket != nil }

    /// The first of the sockets that systemd passes (sd_listen_fds(3)).
    private var passedSocket: Int32? {
        guard environment["LISTEN_PID"] == String(getpid()),
            let count = environment["LISTEN_FDS"].flatMap({ Int($0) }),
            count >= 1
        else { return nil }
        return 3
    }

    func blockSignals() { UnixServer.blockSignals() }

    func ask(
        _ line: [UInt8], at path: String, user: String?, seconds: Int
    ) throws(CredentialError) -> [UInt8] {
        try BrokerClientSocket.exchange(
            line, at: path, user: user, limit: BrokerClient.replyLimit, seconds: seconds)
    }

    var process: Int32 { getpid() }
    var user: UInt32 { geteuid() }
    var networkNamespace: String? { UnixServer.networkNamespace }
}

extension UnixConnection: AcceptedConnection {
    func peerUser() throws(CredentialError) -> UInt32 { try peer().user }
}

/// A server, with the lock and the socket of its instance.
private final class LinuxBrokerServer: BrokerServer {
    let path: String
    private let plan: BrokerPlan
    private let places: BrokerPlaces
    private let lock: FileLock
    private let server: UnixServer
    private let isPassed: Bool

    init(_ plan: BrokerPlan, _ places: BrokerPlaces, passed: Int32?) throws(CredentialError) {
        self.plan = plan
        self.places = places
        path = plan.path ?? places.socket(of: plan.instance)
        isPassed = passed != nil
        let lock = try places.lock(plan.instance)
        do throws(CredentialError) {
            // First, so that 'broker stop' reaches the server before it listens.
            let control = try places.control(plan.instance)
            let listener: FileDescriptor
            if let passed {
                listener = try UnixSocket.take(passed)
            } else {
                if plan.path == nil { try places.makeDirectory(of: plan.instance) }
                listener = try places.listen(at: path, group: plan.group)
            }
            server = try UnixServer(
                listener: listener, control: control,
                rules: UnixServer.Rules(connections: plan.connections, remaining: plan.remaining),
                isPassed: passed != nil)
            self.lock = lock
        } catch {
            places.removeControl(plan.instance)
            lock.release()
            throw error
        }
    }

    func run(
        signals: Bool, _ serve: @escaping @Sendable (any AcceptedConnection) -> Void
    ) throws(CredentialError) {
        _ = try server.run(signals: signals) { serve($0) }
    }

    func end() { server.end() }

    func close() {
        // systemd keeps its socket.
        if !isPassed {
            if plan.path == nil {
                places.remove(plan.instance, withDirectory: plan.isTemporary)
            } else {
                places.removeSocket(path)
            }
        }
        places.removeControl(plan.instance)
        lock.release()
        server.releaseWaiting()
    }
}
