/// How a program that `exec` runs gets its token: in a variable, and in a file that another variable names.
package struct TokenEnvironment: Sendable, Hashable {
    /// The variable with the token.
    package var variable = "ACCESS_TOKEN"
    /// A variable with the file's path, beside ``fileVariable``.
    package var furtherFileVariable: String?

    /// The variable that always has the file's path.
    package static let fileVariable = "CREDMGR_TOKEN_FILE"
    /// Makes the values that apply without options.
    package init() {}

    /// Whether a newline ends the token in the file: programs with a variable of their own for it take one for a
    /// part of the token.
    package var endsLine: Bool { furtherFileVariable == nil }

    /// Returns the variables that the program gets in addition to its caller's. A name that is given to both means
    /// the file.
    ///
    /// - Parameters:
    ///   - token: the token, without a newline.
    ///   - path: the file's; `nil` if there is no file.
    package func variables(token: String, file path: String?) -> [String: String] {
        var variables = [variable: token]
        guard let path else { return variables }
        variables[Self.fileVariable] = path
        if let furtherFileVariable { variables[furtherFileVariable] = path }
        return variables
    }
}
