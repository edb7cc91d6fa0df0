import Commands
import CredentialCore
import CryptoSupport
import DemoProvider
import LocalMachine
import Platform

/// `credmgr demo`: the walkthrough of the seeds with the real commands of this program, in a throw-away home,
/// against a provider of its own.
struct DemoWalkthrough: DemoRunner {
    let machine: Machine

    func run(_ session: CommandSession, _ form: DemoMode) throws(CredentialError) {
        let key = try machine.local.cryptography.generateKey(.rs256)
        var configuration = DemoConfiguration()
        configuration.offersControl = form == .server
        if case .hosts = form { configuration.switches.rotation = .revokesOld }
        let provider = try DemoProvider(
            configuration: configuration,
            keys: [DemoSigningKey(kid: "demo", privateKey: key.privateKey, publicJWK: key.publicJWK)],
            cryptography: machine.local.cryptography, clock: machine.local.clock, random: machine.local.random)
        let base = try provider.start()
        defer { provider.stop() }
        if form == .server { return try serve(base, configuration, session) }

        let home = try TemporaryDirectory(in: machine.local.environment["TMPDIR"] ?? "/tmp", name: "credmgr-demo")
        if case .hosts(let count) = form {
            let hosts = DemoHosts(machine: machine, session: session, provider: provider, base: base)
            return try hosts.play(count, in: home.path)
        }
        var stage = DemoStage(machine: machine, session: session, home: home.path, base: base)
        defer { stage.cleanUp() }
        try stage.write(DemoSettings(base: base, configuration: configuration).plist, to: "settings.plist")
        for scene in form == .browser ? DemoScene.inBrowser : DemoScene.walkthrough {
            try stage.title(scene.title)
            try scene.play(stage, provider)
        }
    }

    /// Keeps the provider running for users who want to try by hand.
    private func serve(
        _ base: String, _ configuration: DemoConfiguration, _ session: CommandSession
    ) throws(CredentialError) {
        try session.print(DemoSettings(base: base, configuration: configuration).plist)
        session.notices.say("The demo provider listens at \(base) until standard input ends.")
        session.notices.say(
            "Its users are alice@example.com (alice's password) and bob@example.com (bob's password).")
        while try session.context.console.readInputLine() != nil {}
    }
}
