import CredentialCore
import Platform
import StrictJSON

/// The position of a reader in one group's log.
final class LogTailer {
    /// The group.
    let group: KeychainGroup
    private var file: FileDescriptor?
    private var offset: Int64 = 0
    private var partial: [UInt8] = []

    /// A log that was not read yet.
    init(_ group: KeychainGroup) { self.group = group }

    /// Passes over the present content of the log. A log that is not there yet is made: held open, it is read to
    /// its end even if it is put away first.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func skip(_ folder: borrowing PrivateDirectory) throws(CredentialError) {
        let log = try folder.openShared(EventLogFile.name, appending: true)
        offset = log.size
        file = consume log
    }

    /// The events that have been added since the last call.
    ///
    /// - Throws: ``ErrorCode/inputOutput``.
    func read(_ folder: borrowing PrivateDirectory) throws(CredentialError) -> [AccountEvent] {
        var events: [AccountEvent] = []
        while true {
            // Asked before reading: no event is added to a log once it has been put away.
            let isCurrent = isCurrent(in: folder)
            events += additions()
            if isCurrent { return events }
            try open(folder)
            // Between two logs there is a moment without a log.
            if FileDescriptor.number(of: file) < 0 { return events }
        }
    }

    private func open(_ folder: borrowing PrivateDirectory) throws(CredentialError) {
        file = try folder.openExisting(EventLogFile.name)
        offset = 0
        partial = []
    }

    private func isCurrent(in folder: borrowing PrivateDirectory) -> Bool {
        switch file {
        case .some(let file): folder.isCurrent(file, EventLogFile.name)
        case .none: false
        }
    }

    private func additions() -> [AccountEvent] {
        var events: [AccountEvent] = []
        while true {
            let chunk: [UInt8]
            switch file {
            case .some(let file): chunk = file.read(1 << 16, at: offset)
            case .none: chunk = []
            }
            if chunk.isEmpty { return events }
            offset += Int64(chunk.count)
            partial += chunk
            if let end = partial.lastIndex(of: 0x0A) {
                events += partial[..<end].split(separator: 0x0A).compactMap(event)
                partial.removeSubrange(...end)
            }
        }
    }

    /// The event of a line; lines without an event, or of another group, are passed over.
    private func event(_ line: ArraySlice<UInt8>) -> AccountEvent? {
        guard let json = try? JSONValue.parse(Array(line)).object, let event = AccountEvent(json: json),
            event.group == group
        else { return nil }
        return event
    }
}
