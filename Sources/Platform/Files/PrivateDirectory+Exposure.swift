import Glibc

extension PrivateDirectory {
    /// The first directory above a path in which a user other than the user and root can exchange its target; `nil`
    /// if there is no such directory. In a directory like `/tmp`, with the sticky bit, no other user can. If the
    /// path has symbolic links, the search covers the folders above each of their targets.
    package static func exposedFolder(above path: String) -> String? { exposedFolder(above: path, links: 40) }

    private static func exposedFolder(above path: String, links: Int) -> String? {
        var place = path
        while let slash = place.lastIndex(of: "/"), place != "/" {
            if links > 0, let target = UserOutputFile.linkTarget(place) {
                let above = target.hasPrefix("/") ? target : String(place[...slash]) + target
                if let exposed = exposedFolder(above: above, links: links - 1) { return exposed }
            }
            place = slash == place.startIndex ? "/" : String(place[..<slash])
            var status = stat()
            guard unsafe stat(place, &status) == 0 else { continue }
            let owner = status.st_uid
            let writers: mode_t = status.st_gid == owner ? 0o002 : 0o022
            if owner != geteuid() && owner != 0 || status.st_mode & writers != 0 && status.st_mode & S_ISVTX == 0 {
                return place
            }
        }
        return nil
    }
}
