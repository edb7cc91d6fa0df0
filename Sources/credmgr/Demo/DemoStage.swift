import Commands
import CredentialCore
import DemoProvider
import LocalMachine
import Platform
import StrictJSON

/// The stage of the walkthrough: it runs this program's own commands as a shell would, and shows them.
struct DemoStage {
    private let machine: Machine
    private let session: CommandSession
    private let home: String
    /// The provider's address.
    let base: String
    /// The prompt before its commands.
    private let prompt: String
    private var sceneNumber = 0

    init(machine: Machine, session: CommandSession, home: String, base: String, prompt: String = "$") {
        self.machine = machine
        self.session = session
        self.home = home
        self.base = base
        self.prompt = prompt
    }

    /// The output of a command.
    struct Outcome {
        let output: String
        let errors: String
    }

    /// Begins a scene.
    mutating func title(_ text: LocalizedMessage) throws(CredentialError) {
        sceneNumber += 1
        try session.print("\(sceneNumber == 1 ? "" : "\n")\(sceneNumber). \(session.shown(text))\n")
    }

    /// Runs a command, shows it and its output, and checks how it ends.
    ///
    /// - Parameters:
    ///   - input: its standard input.
    ///   - expecting: the exit status it must end with.
    ///   - patience: for how many seconds it is run again if it finds temporary trouble, which is shown the last
    ///     time only.
    ///   - shows: the part of its result to show; a token is not shown whole.
    @discardableResult
    func run(
        _ words: [String], input: String? = nil, expecting status: Int32 = 0, patience: Int64 = 0,
        shows: (String) -> String = { $0 }
    ) throws(CredentialError) -> Outcome {
        let shown = words.map { $0.contains(where: { " \"{}'&?<>|;$".contains($0) }) ? "'\($0)'" : $0 }
        try session.print("   \(prompt) credmgr \(shown.joined(separator: " "))\n")
        var launch = SpawnConfiguration(ExecutablePath.itself, words, environment: environment)
        launch.directory = home
        let watch = Stopwatch()
        var outcome = try ChildProgram(launch, seconds: 60).run(input: Array((input ?? "").utf8))
        while outcome.ending == .ended(.exited(6)), watch.elapsed < patience * 1_000 {
            SystemTime.pause(milliseconds: 200)
            outcome = try ChildProgram(launch, seconds: 60).run(input: Array((input ?? "").utf8))
        }
        guard case .ended(let ending) = outcome.ending else {
            throw CredentialError(.temporary, "the step did not end within 60 s")
        }
        let output = String(decoding: outcome.output, as: UTF8.self)
        let errors = String(decoding: outcome.errorOutput, as: UTF8.self)
        for line in shows(output).split(separator: "\n") + errors.split(separator: "\n") {
            try session.print("     \(line.hasPrefix("  http") ? line.prefix(88) + "…" : line)\n")
        }
        if ending.exitStatus != 0 {
            try session.print("     \(session.shown("(exit status \(ending.exitStatus))"))\n")
        }
        guard ending.exitStatus == status else {
            throw CredentialError(
                .internalFault, "the step ended with \(ending.exitStatus), but \(status) was expected")
        }
        return Outcome(output: output, errors: errors)
    }

    /// Makes a request under the type of the settings.
    @discardableResult
    func request(
        _ method: String, _ url: String, more: [String] = [], expecting status: Int32 = 0
    ) throws(CredentialError) -> Outcome {
        try run(["request", method, url, "--type", DemoSettings.typeName] + more, expecting: status)
    }

    /// Gets the to-do list and counts it, if it is one.
    func list(more: [String] = []) throws(CredentialError) {
        let body = try request("GET", "/api/tasks", more: more).output
        let tasks = (try? JSONValue.parse(Array(body.utf8)))?.array
        try say(tasks.map { "(tasks: \($0.count))" } ?? "(no list: the app took its keys for tasks)")
    }

    /// Runs a command that prints a token, and shows how the token begins.
    func showToken(_ words: [String], patience: Int64 = 0) throws(CredentialError) {
        try run(words, patience: patience) { String($0.prefix(24)) + "…\n" }
    }

    // MARK: Signing in

    /// Signs a user in: the first half prints the URL, a robot plays the browser, the second half finishes.
    ///
    /// - Parameters:
    ///   - name: the display name, if the page asks for one.
    ///   - act: the steps of the robot in place of filling the page in.
    func signIn(
        _ user: DemoUser, type: String = DemoSettings.typeName, more: [String] = [], name: String = "",
        act: DemoSignIn.Act? = nil,
        expecting status: Int32 = 0
    ) throws(CredentialError) {
        let url = try begin(type, more: more)
        try complete(try visit(url, user, act ?? .submit(name: name)), expecting: status)
    }

    /// The first half: gives the URL of the provider's page.
    func begin(_ type: String, more: [String] = []) throws(CredentialError) -> String {
        let url = try run(["login", "--type", type, "--print-url"] + more) { $0.prefix(88) + "…\n" }.output
        return String(url.prefix { !$0.isNewline })
    }

    /// A robot plays the browser: gives the address that it ends at.
    func visit(
        _ url: String, _ user: DemoUser, _ act: DemoSignIn.Act = .submit()
    ) throws(CredentialError) -> String {
        var robot = DemoSignIn(username: user.email, password: user.password)
        let redirect = try robot.run(url, act: act)
        let (name, end) = (user.name, redirect.prefix(40))
        let deed: LocalizedMessage =
            switch act {
            case .submit: "(\(name) fills the provider's page in; the browser ends at \(end)…)"
            case .cancel: "(\(name) cancels on the provider's page; the browser ends at \(end)…)"
            case .forgotPassword: "(\(name) follows \"Forgot your password?\"; the browser ends at \(end)…)"
            }
        try say(deed)
        return redirect
    }

    /// The second half: gives the address of the next page, if there is one.
    @discardableResult
    func complete(_ redirect: String, expecting status: Int32 = 0) throws(CredentialError) -> String {
        let errors = try run(["login", "--complete", "-"], input: redirect + "\n", expecting: status).errors
        return errors.split(separator: "\n").first { $0.hasPrefix("  http") }.map { String($0.dropFirst(2)) } ?? ""
    }

    /// Signs a user in through the real browser.
    func signInByBrowser(_ type: String) throws(CredentialError) {
        try say(LocalizedMessage(verbatim: "$ credmgr login --type \(type)"))
        var launch = SpawnConfiguration(
            ExecutablePath.itself, ["login", "--type", type], environment: browserEnvironment)
        launch.standardInput = .inherit
        launch.standardOutput = .inherit
        launch.standardError = .inherit
        let ending = try launch.start().wait()
        guard ending.exitStatus == 0 else {
            throw CredentialError(.cancelled, "the sign-in ended with \(ending.exitStatus)")
        }
    }

    /// Adds a line of the narrator's.
    func say(_ text: LocalizedMessage) throws(CredentialError) { try session.print("   \(session.shown(text))\n") }

    /// Says the last words.
    func end(_ text: LocalizedMessage) throws(CredentialError) { try session.print("\n\(session.shown(text))\n") }

    /// Puts a file into the home.
    func write(_ text: String, to name: String) throws(CredentialError) {
        let file = try UserOutputFile("\(home)/\(name)")
        try file.write(Array(text.utf8))
        try file.close()
    }

    /// Forgets the data that is kept outside the home: cached tokens, items in the desktop's keyring.
    func cleanUp() {
        let launch = SpawnConfiguration(
            ExecutablePath.itself, ["logout", "--all", "--yes"], environment: environment)
        // The walkthrough is over, one way or the other; the remaining data expires by itself.
        _ = try? ChildProgram(launch, seconds: 60).run()
    }

    /// A home of its own. The secrets go to the encrypted file there, so that the user's keyring stays as it is,
    /// unless another store was asked for.
    private var environment: [String: String] {
        var environment = machine.local.environment.filter { name, _ in
            !name.hasPrefix("XDG_DATA") && !name.hasPrefix("XDG_CONFIG") && !name.hasPrefix("CREDMGR_")
        }
        environment["HOME"] = home
        environment["NO_COLOR"] = "1"
        environment["CREDMGR_STORE"] = session.options.store?.rawValue ?? StoreKind.file.rawValue
        return environment
    }

    /// The browser runs in the user's own home, or it would not find its profile.
    private var browserEnvironment: [String: String] {
        var environment = environment
        environment["XDG_DATA_HOME"] = home + "/.local/share"
        environment["XDG_CONFIG_HOME"] = home + "/.config"
        environment["HOME"] = machine.local.directories.home
        return environment
    }
}
