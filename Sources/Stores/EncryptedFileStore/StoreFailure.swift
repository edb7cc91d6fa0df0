import CredentialCore

/// Runs `body`; trouble with a file becomes trouble with the store, which is what users of a store know of.
func asStoreFailure<Result>(_ body: () throws(CredentialError) -> Result) throws(CredentialError) -> Result {
    do {
        return try body()
    } catch {
        guard error.code == .inputOutput else { throw error }
        throw CredentialError(.storeUnavailable, error.message, hint: error.hint, details: error.details)
    }
}
