// The ports that a cached answer goes through. Embedded Swift, as which the small program is compiled, has no
// values of protocol types; it has one implementation of each (docs/decisions/0013-the-small-program.md).
#if hasFeature(Embedded)
package typealias AnyAccessTokenCache = UnlockedCache
package typealias AnyFileStates = SystemFileStates
package typealias AnyWallClock = SystemClock
#else
/// Any cache of access tokens.
package typealias AnyAccessTokenCache = any AccessTokenCache
/// The reader of file metadata.
package typealias AnyFileStates = any FileStamps
/// Any clock.
package typealias AnyWallClock = any WallClock
#endif
