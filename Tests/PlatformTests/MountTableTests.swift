import Foundation
import Testing

@testable import Platform

/// The directories of other mount namespaces.
@Suite struct MountTableTests {
    private static let host = """
        27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
        30 27 0:27 / /run rw shared:2 - tmpfs tmpfs rw
        31 30 0:40 / /run/user/1000 rw - tmpfs tmpfs rw

        """
    /// A unit with a `/tmp` of its own, and with other mounts that change no directory.
    private static let unit = """
        60 1 254:0 / / rw,relatime - ext4 /dev/vda rw
        61 60 0:27 / /run rw - tmpfs tmpfs rw
        62 61 0:40 / /run/user/1000 rw - tmpfs tmpfs rw
        63 60 254:0 /tmp/systemd-private-1/tmp /tmp rw - ext4 /dev/vda rw
        64 60 254:0 /srv /srv ro - ext4 /dev/vda rw

        """

    @Test func `a directory has the same place when only paths of mounts differ`() {
        let host = MountTable(Self.host), unit = MountTable(Self.unit)
        for path in ["/run/user/1000/credmgr-brokers/b", "/srv", "/srv/a", "/tmpfiles", "/run", "/"] {
            #expect(host.place(of: path) != nil)
            #expect(host.place(of: path) == unit.place(of: path), "\(path)")
        }
    }

    @Test func `a directory has another place when a unit has a directory of its own`() {
        let host = MountTable(Self.host), unit = MountTable(Self.unit)
        for path in ["/tmp", "/tmp/a"] { #expect(host.place(of: path) != unit.place(of: path), "\(path)") }
        #expect(unit.place(of: "/tmp/a") == MountTable.Place(device: "254:0", path: "/tmp/systemd-private-1/tmp/a"))
    }

    @Test func `the last mount at a point applies, and spaces are escaped`() {
        let table = MountTable(
            """
            1 0 8:1 / / rw - ext4 /dev/sda1 rw
            2 1 8:2 / /my\\040files rw - ext4 /dev/sda2 rw
            3 2 8:3 /sub /my\\040files rw - ext4 /dev/sda3 rw
            """)
        #expect(table.place(of: "/my files/a") == MountTable.Place(device: "8:3", path: "/sub/a"))
        #expect(table.place(of: "/my files") == MountTable.Place(device: "8:3", path: "/sub"))
        #expect(MountTable("").place(of: "/") == nil)
    }

    @Test func `a directory is shared with this process, and not with one that does not exist`() {
        #expect(MountTable.isShared("/", with: getpid()))
        #expect(!MountTable.isShared("/", with: .max))
        #expect(!MountTable.isShared("/nonexistent", with: getpid()))
    }
}
