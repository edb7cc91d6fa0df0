import Broker
import CredentialCore
import Platform

/// `credmgr exec --broker`: serves a broker while a command runs.
struct BrokerExec {
    private let name: String
    private let isRelayed: Bool
    private let words: [String]

    /// - Parameter isRelayed: whether `credmgr relay` runs the command.
    init(_ name: String, isRelayed: Bool, _ words: [String]) {
        self.name = name
        self.isRelayed = isRelayed
        self.words = words
    }

    func run(_ session: CommandSession) throws(CredentialError) {
        let context = session.context
        let name = try BrokerFiles.checked(name)
        var configuration = try BrokerFiles(context).read(name)
        if try TerminalInjection.isPossible(context.programs) {
            // The command has this terminal, and could answer the prompt itself.
            configuration.askBy.removeAll { $0 == .terminal }
        }
        let instance = BrokerInstance.name(of: name, process: context.brokers.process)
        let run = try BrokerRun(
            configuration, instance: instance, BrokerRun.Surroundings(configuration, session), session)
        var variables: [String: String] = [:]
        for (name, value) in BrokerVariables(socket: run.path, configuration).all { variables[name] = value }
        let hasEnded = OneShot<Void, Never>()
        let words = isRelayed ? [context.programs.ownPath, "relay", "--"] + words : words
        session.notices.waiting.retire()
        let ending: Result<TerminationStatus, CredentialError>
        do throws(CredentialError) {
            // Connections wait in the socket's queue until the thread accepts them.
            try DeadlineThread.start {
                do throws(CredentialError) { try run.run(signals: false) } catch { session.notices.warning(error) }
                hasEnded.put(.success(()))
            }
            ending = .success(
                try context.programs.accompany(
                    words, variables: variables, meanwhile: {}, unattended: { session.notices.warning($0) }))
        } catch { ending = .failure(error) }
        run.end()
        // The thread removes the directory, and does not wait for anything that takes longer.
        if hasEnded.take(until: Deadline(milliseconds: 10_000)) == nil {
            session.notices.warning("the broker's server has not ended after 10 s")
        }
        try context.programs.end(like: try ending.get())
    }
}
