package import StrictJSON

extension JSONError.Reason {
    /// The description of the error, for messages: lower case, no full stop.
    package var text: LocalizedMessage {
        switch self {
        case .tooLarge(let bytes): "text is larger than \(bytes) bytes"
        case .tooDeep(let depth): "nested deeper than \(depth) levels"
        case .tooMany(let nodes): "more than \(nodes) values"
        case .textAfterValue: "text after the value"
        case .unexpectedEnd: "unexpected end"
        case .unexpectedCharacter: "unexpected character"
        case .noMemberName: "expected a member name"
        case .noColon: "expected ':'"
        case .noCommaOrBrace: "expected ',' or '}'"
        case .noCommaOrBracket: "expected ',' or ']'"
        case .repeatedMemberName: "member name given twice"
        case .leadingZero: "number with a leading zero"
        case .longNumber: "number longer than 128 characters"
        case .noDigit: "expected a digit"
        case .openString: "string without an end"
        case .controlCharacter: "control character in a string"
        case .unknownEscape: "unknown escape"
        case .loneSurrogate: "lone surrogate"
        case .noHexadecimalDigits: "expected four hexadecimal digits"
        case .notUTF8: "string is not UTF-8"
        case .openComment: "comment without an end"
        }
    }
}

extension JSONError {
    /// The reason and the place, for messages: "unexpected character at line 3".
    package var text: LocalizedMessage { "\(reason.text) at line \(line)" }
}

extension LocalizedMessage.Interpolation {
    /// Takes why a text is no JSON.
    package mutating func appendInterpolation(_ error: JSONError) { appendInterpolation(error.text) }
}
