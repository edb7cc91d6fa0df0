import CLinux
import CredentialCore
import Glibc

/// The file actions of one `posix_spawn(3)` call.
@safe final class SpawnActions {
    private let launch: SpawnConfiguration
    private var actions = unsafe posix_spawn_file_actions_t()
    private var copies: [Int32] = []

    /// Makes an empty list for a launch.
    init(_ launch: SpawnConfiguration) throws(CredentialError) {
        self.launch = launch
        try check(unsafe posix_spawn_file_actions_init(&actions))
    }

    deinit {
        for number in copies { close(number) }
        unsafe posix_spawn_file_actions_destroy(&actions)
    }

    /// The parent's descriptor `source` becomes the child's `target`.
    ///
    /// It is copied to a number above all targets first: no action can then overwrite the source of a later one.
    func place(_ source: Int32, at target: Int32) throws(CredentialError) {
        let copy = fcntl(source, F_DUPFD_CLOEXEC, firstFree)
        // A standard descriptor that is closed stays so in the child.
        if copy < 0, errno == EBADF, source == target { return }
        if copy < 0 { throw launch.failure(errno) }
        copies.append(copy)
        try check(unsafe posix_spawn_file_actions_adddup2(&actions, copy, target))
    }

    /// Starts the program.
    func spawn() throws(CredentialError) -> pid_t {
        if let terminal = launch.terminal { try check(unsafe linux_spawn_add_tcsetpgrp(&actions, terminal)) }
        try check(unsafe linux_spawn_add_closefrom(&actions, firstFree))
        if let directory = launch.directory { try check(unsafe linux_spawn_add_chdir(&actions, directory)) }
        var attributes = posix_spawnattr_t()
        try check(unsafe posix_spawnattr_init(&attributes))
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var reset = sigset_t()
        var none = sigset_t()
        unsafe sigemptyset(&none)
        if launch.keepsIgnoredSignals {
            // This program ignores them, not its caller.
            unsafe sigemptyset(&reset)
            for number in [SIGPIPE, SIGXFSZ] { unsafe sigaddset(&reset, number) }
        } else {
            unsafe sigfillset(&reset)
        }
        try check(unsafe posix_spawnattr_setsigdefault(&attributes, &reset))
        try check(unsafe posix_spawnattr_setsigmask(&attributes, &none))
        var flags = Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK)
        if launch.startsSession {
            flags |= linux_spawn_setsid
        } else if launch.endsItsGroup {
            flags |= Int16(POSIX_SPAWN_SETPGROUP)
            try check(unsafe posix_spawnattr_setpgroup(&attributes, 0))
        }
        try check(unsafe posix_spawnattr_setflags(&attributes, flags))
        let arguments = CStrings([launch.program] + launch.arguments)
        let environment = CStrings(launch.environment.map { "\($0.key)=\($0.value)" })
        var process: pid_t = 0
        func start() -> Int32 {
            unsafe posix_spawn(
                &process, launch.program, &actions, &attributes, arguments.pointers, environment.pointers)
        }
        try check(launch.callerSettings.map { $0.restored(start) } ?? start())
        return process
    }

    /// The first number that the child does not get.
    private var firstFree: Int32 { 3 + Int32(launch.inherited.count) }

    private func check(_ result: Int32) throws(CredentialError) {
        if result != 0 { throw launch.failure(result) }
    }
}

/// Texts as C has them, with a null pointer at the end; wiped and freed with this object, for they may be secret.
@safe final class CStrings {
    /// Their addresses.
    let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    /// Copies texts.
    init(_ texts: [String]) {
        count = texts.count
        unsafe pointers = .allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() { unsafe (pointers + index).initialize(to: strdup(text)) }
        unsafe (pointers + texts.count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count {
            guard let text = unsafe pointers[index] else { continue }
            unsafe explicit_bzero(text, strlen(text))
            unsafe free(text)
        }
        unsafe pointers.deallocate()
    }
}
