import DemoProvider
import Foundation
import StrictJSON
import TestSupport
import Testing

/// A disk with little space: each command works, or fails before it sends a request; no token is lost.
@Suite struct `A disk that is nearly full` {
    /// The result of a command with so much space left.
    private struct Result {
        let left: Int, command: String, status: Int, output: String, error: String
    }

    /// Runs each command on a file system of 600 kB of which so many kB are left, frees it, and refreshes.
    private static let script = """
        cp -a "$XDG_DATA_HOME/credmgr" "$HOME/kept" &&
        mount -t tmpfs -o size=600k,mode=700 none "$XDG_DATA_HOME/credmgr" &&
        cp -a "$HOME/kept/." "$XDG_DATA_HOME/credmgr" && umask 077 || exit 1
        ask() {
            name=$1; shift
            "$PROGRAM" "$@" >"$HOME/seen/$left.$name.out" 2>"$HOME/seen/$left.$name.err"
            echo "$left $name $?"
        }
        for left in 0 4 12 40 100 200 280 400; do
            more=$(($(df -k --output=avail "$XDG_DATA_HOME/credmgr" | tail -n 1) - left))
            dd if=/dev/zero of="$XDG_DATA_HOME/credmgr/filler" bs=1k count=$more 2>/dev/null || exit 1
            ask token token --type Tasks
            ask refresh token --type Tasks --force-refresh
            ask login login --type Tasks
            ask doctor doctor
            rm "$XDG_DATA_HOME/credmgr/filler"
            ask after token --type Tasks --force-refresh
        done
        """

    @Test(.needs(.namespaces), .timeLimit(.minutes(10)))
    func `Each refusal has its reason, and no data is lost`() throws {
        let home = try Home(["CREDMGR_STORE": "file"]), tenant = try DemoTenant()
        defer { tenant.provider.stop() }
        try tenant.definePolicies(at: home, ["redirect_uri": "http://localhost"])
        let browser = try Browser(in: home)
        try home.run(["login", "--type", "Tasks"], environment: browser.environment)
        try FileManager.default.createDirectory(atPath: home.path + "/seen", withIntermediateDirectories: true)
        let environment = home.environment.merging(browser.environment) { $1 }
            .merging(["PROGRAM": Home.program]) { $1 }
        let outcome = try ChildProcess("unshare", ["-rm", "sh", "-c", Self.script], environment: environment)
            .run(seconds: 540)
        try #require(outcome.exitStatus == 0, "\(outcome.standardError)")
        let results = outcome.standardOutput.split(separator: "\n").compactMap { line -> Result? in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let left = Int(words[0]), let status = Int(words[2]) else { return nil }
            let file = "seen/\(words[0]).\(words[1])"
            return Result(
                left: left, command: words[1], status: status, output: home.text(of: file + ".out") ?? "",
                error: home.text(of: file + ".err") ?? "")
        }
        try #require(results.count == 8 * 5)
        for result in results {
            let shown = Comment(rawValue: "\(result)")
            switch result.command {
            case "token", "after":
                // A token that is there needs no room, and after each refusal the sign-in is as good as before.
                #expect(result.status == 0 && result.output.hasPrefix("ey"), shown)
            case "refresh", "login":
                if result.status == 0 {
                    #expect(!result.output.isEmpty, shown)
                } else {
                    #expect(result.status == 5 && result.output.isEmpty, shown)
                    #expect(result.error.contains("not enough space"), shown)
                    #expect(result.error.contains("No space left on device"), shown)
                    #expect(result.error.contains("hint: df -h \(home.dataFolder)"), shown)
                }
            default:
                let isFull = result.output.contains("cannot write to \(home.dataFolder): the file system")
                #expect(result.status == (isFull ? 1 : 0), shown)
                #expect(isFull == (result.left < 40) || result.left == 40, shown)
            }
        }
        let statuses = { (command: String) in results.filter { $0.command == command }.map(\.status) }
        // Both ends are met: no file fits, and every file does.
        for command in ["refresh", "login"] {
            #expect(statuses(command).first == 5 && statuses(command).last == 0)
        }
        // The provider rotated no refresh token without credmgr saving the new one.
        #expect(tenant.provider.counters.reusesDetected == 0)
    }
}

extension Home {
    /// The folder of the program's data.
    fileprivate var dataFolder: String { path + "/data/credmgr" }
}
