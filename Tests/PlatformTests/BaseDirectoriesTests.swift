import CredentialCore
import Foundation
import Platform
import Testing

@Suite struct BaseDirectoriesTests {
    @Test func `folders follow the environment`() throws {
        let folders = try BaseDirectories(environment: [
            "HOME": "/home/u/", "XDG_DATA_HOME": "/data", "XDG_CONFIG_HOME": "/config",
            "XDG_CACHE_HOME": "/cache/",
            "XDG_CONFIG_DIRS": "/etc/a:/etc/b/", "XDG_DATA_DIRS": "/usr/x",
        ])
        #expect(folders.home == "/home/u")
        #expect(folders.cacheHome == "/cache")
        #expect(folders.dataFolder == "/data/credmgr")
        #expect(folders.configFolder == "/config/credmgr")
        #expect(folders.configSearchPath == ["/config/credmgr", "/etc/a/credmgr", "/etc/b/credmgr"])
        #expect(folders.dataSearchPath == ["/usr/x/credmgr"])
    }

    @Test func `relative and empty values count as unset`() throws {
        let folders = try BaseDirectories(environment: [
            "HOME": "/home/u", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "", "XDG_CONFIG_DIRS": "a::b",
            "XDG_DATA_DIRS": "x:/usr/y",
        ])
        #expect(folders.dataHome == "/home/u/.local/share")
        #expect(folders.cacheHome == "/home/u/.cache")
        #expect(folders.configHome == "/home/u/.config")
        #expect(folders.configSearchPath == ["/home/u/.config/credmgr", "/etc/xdg/credmgr"])
        #expect(folders.dataSearchPath == ["/usr/y/credmgr"])
    }

    @Test func `without HOME the user database tells the home folder`() throws {
        let home = String(cString: try #require(getpwuid(getuid())).pointee.pw_dir)
        #expect(try BaseDirectories(environment: [:]).home == home)
        #expect(try BaseDirectories(environment: ["HOME": "here"]).home == home)
    }

    @Test func `the environment of the process is read whole`() {
        #expect(ProcessEnvironment.variables() == ProcessInfo.processInfo.environment)
    }
}
