// Takes the place of the module Glibc, which Embedded Swift does not have: the parts that the module adds to the C
// functions.

@_exported public import CGlibc

/// The number of the last error of this thread.
public var errno: Int32 {
    get { glibc_errno() }
    set { glibc_set_errno(newValue) }
}

/// open(2).
public func open(_ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    unsafe glibc_open(path, flags, mode)
}

/// openat(2).
public func openat(_ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    unsafe glibc_openat(folder, path, flags, mode)
}

/// fcntl(2) with a number.
public func fcntl(_ descriptor: Int32, _ command: Int32, _ value: Int32 = 0) -> Int32 {
    glibc_fcntl(descriptor, command, value)
}

/// The default action of a signal.
public var SIG_DFL: (@convention(c) (Int32) -> Void)? { nil }

/// The part of a mode that tells the kind of a file.
public var S_IFMT: mode_t { 0o170000 }
/// A folder.
public var S_IFDIR: mode_t { 0o040000 }
/// A regular file.
public var S_IFREG: mode_t { 0o100000 }
/// A symbolic link.
public var S_IFLNK: mode_t { 0o120000 }
/// Only owners remove entries.
public var S_ISVTX: mode_t { 0o1000 }
