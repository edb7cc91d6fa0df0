package import CredentialCore
import Platform

/// The plugins that are installed, in the order of the search path. Of one name the first found counts, even when
/// it must not be used: no other plugin runs in its place unasked.
package struct PluginCatalog: Sendable {
    /// The folders looked in, in order.
    package let places: [PluginSearchPath]
    private let reserved: [String]
    private let environment: [String: String]
    private let walls: SandboxPolicy

    /// Makes a catalog.
    ///
    /// - Parameters:
    ///   - places: the directories in which plugins are looked for, in order.
    ///   - reserved: the names of built-in adapters, which no plugin can have.
    ///   - environment: the environment of this process, from which a plugin gets the variables that it may see.
    ///   - walls: how plugins are confined.
    package init(
        places: [PluginSearchPath], reserved: [String], environment: [String: String], walls: SandboxPolicy
    ) {
        self.places = places
        self.reserved = reserved
        self.environment = environment
        self.walls = walls
    }

    /// Runs the plugins.
    package var launcher: PluginLauncher { PluginLauncher(environment: environment, walls: walls) }

    /// The actions that a plugin can take because this machine lacks a wall, as words that continue after its name.
    ///
    /// - Throws: ``ErrorCode/configuration``, ``ErrorCode/inputOutput`` if there is no supervisor.
    package func lackingWalls() throws(CredentialError) -> [LocalizedMessage] {
        try walls.confinedProgram().lacking().map(\.consequence)
    }

    /// A folder found.
    package struct Entry: Sendable {
        /// Whether it counts.
        package enum State: Sendable {
            /// It can be used.
            case available(InstalledPlugin)
            /// It must not be used, for this reason.
            case refused(CredentialError)
            /// Another of its name comes first.
            case shadowed(by: String)
        }

        /// The folder's name; `*` for a folder of plugins that itself must not be used.
        package let name: String
        /// The folder.
        package let path: String
        /// Whether it counts.
        package let state: State
    }

    /// Everything found, by place and name.
    package func entries() -> [Entry] {
        var entries: [Entry] = []
        for place in places {
            do throws(CredentialError) {
                guard let folder = try TrustedDirectory.open(place.components, below: place.base) else { continue }
                for name in try folder.names() {
                    entries.append(entry(name, in: place, first: entries.first { $0.name == name }))
                }
            } catch {
                entries.append(Entry(name: "*", path: place.path, state: .refused(error)))
            }
        }
        return entries
    }

    private func entry(_ name: String, in place: PluginSearchPath, first: Entry?) -> Entry {
        let path = "\(place.path)/\(name)"
        if let first { return Entry(name: name, path: path, state: .shadowed(by: first.path)) }
        do throws(CredentialError) {
            guard let provider = try InstalledPlugin.find(name, in: place, reserved: reserved) else {
                return Entry(
                    name: name, path: path, state: .refused(CredentialError(.configuration, "it was removed")))
            }
            return Entry(name: name, path: path, state: .available(provider))
        } catch {
            return Entry(name: name, path: path, state: .refused(error))
        }
    }

    /// The plugin called `name`; `nil` if it is not installed.
    ///
    /// - Throws: ``ErrorCode/configuration`` for one that must not be used.
    package func provider(named name: String) throws(CredentialError) -> InstalledPlugin? {
        guard Identifier.isValid(name) else { return nil }
        for place in places {
            do throws(CredentialError) {
                if let provider = try InstalledPlugin.find(name, in: place, reserved: reserved) {
                    return provider
                }
            } catch {
                throw CredentialError(
                    .configuration, "the adapter '\(name)' in \(place.path) is refused: \(error)",
                    hint: error.advice ?? "credmgr adapters", details: error.details)
            }
        }
        return nil
    }

    /// The adapter for the plugin called `name`; `nil` if it is not installed.
    ///
    /// - Throws: as ``provider(named:)``.
    package func adapter(named name: String) throws(CredentialError) -> PluginAdapter? {
        guard let provider = try provider(named: name) else { return nil }
        _ = try walls.supervisor()
        return PluginAdapter(provider, launcher: launcher)
    }
}
