import Foundation
import TestSupport
import Testing

extension Home {
    /// Installs an example of the project by copying its folder, as its README says.
    func install(example name: String) throws {
        let source = String(#filePath.split(separator: "/Tests/")[0]) + "/Plugins/examples/" + name
        let target = path + "/data/credmgr/providers"
        let outcome = try ChildProcess(
            "/bin/sh", ["-c", "umask 022; mkdir -p '\(target)' && cp -r '\(source)' '\(target)/'"]
        ).run()
        try #require(outcome.exitStatus == 0)
    }

    /// Installs the plugin `canned`, a shell script that has read `$request` and answered `describe`, and defines
    /// the type `Canned`. Another process puts the program in place: one that is still open for writing anywhere
    /// cannot be started.
    ///
    /// It may write in the folder `seen` of this home.
    func install(plugin script: String) throws {
        let folder = "data/credmgr/providers/canned"
        try FileManager.default.createDirectory(atPath: path + "/seen", withIntermediateDirectories: true)
        try write(
            #"{"name":"canned","version":"1","protocol_versions":[1],"summary":"a test","executable":"run","#
                + #""needs":{"write":["\#(path)/seen"]}}"#,
            to: folder + "/manifest.json", mode: 0o644)
        let text = try write(
            """
            #!/bin/sh
            request=$(cat)
            case $request in
            *'"operation":"describe"'*)
                echo '{"version":1,"reply":"description","name":"canned","plugin_version":"1","protocol_versions":[1]}'
                exit 0 ;;
            esac
            \(script)
            """, to: folder + "/run.txt")
        try #require(
            try ChildProcess("/usr/bin/install", ["-m", "755", text, String(text.dropLast(4))]).run().exitStatus
                == 0)
        try run(["types", "add", "Canned", "--adapter", "canned", "--client-id", "c"])
    }
}
