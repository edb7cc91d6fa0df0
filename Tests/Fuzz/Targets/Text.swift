import CredentialCore
import OAuth

extension FuzzTarget {
    /// The redirected URL, or the text pasted for it.
    static let redirect = FuzzTarget("redirect") { bytes in
        for uri in ["http://127.0.0.1/callback", "com.example.app:/done?x=1", "urn:ietf:wg:oauth:2.0:oob"] {
            guard let answer = try? AuthorizationResponse.parse(bytes.text, redirectURI: uri) else { continue }
            require((answer.code == nil) != (answer.error == nil), "an answer is a code or an error")
            let code = try? answer.checkedCode(
                state: "the state of another sign-in, which no input has", issuer: nil, requiresIssuer: false,
                refusal: { _ in CredentialError(.denied, "refused") })
            require(code == nil || answer.isBareCode, "a foreign state is refused")
        }
    }

    /// `WWW-Authenticate`.
    static let challenge = FuzzTarget("challenge") { bytes in
        _ = AuthenticationChallenge.parse([bytes.text])
        _ = AuthenticationChallenge.parse(bytes.split(separator: 0x0A).map { Array($0).text })
    }

    /// Form coding.
    static let form = FuzzTarget("form") { bytes in
        let text = bytes.text
        let coded = FormURLEncoding.encode([(text, text), ("", text)])
        guard let fields = FormURLEncoding.decode(coded), fields.count == 2 else {
            return require(false, "what was encoded is decoded")
        }
        let isSame = fields[0].name.utf8.elementsEqual(text.utf8) && fields[1].value.utf8.elementsEqual(text.utf8)
        require(isSame, "coding keeps the text")
        _ = FormURLEncoding.decode(text)
    }

    /// URLs.
    static let webAddress = FuzzTarget("web-address") { bytes in
        guard let address = URI(bytes.text) else { return }
        let again = URI(address.description)
        require(again?.description == address.description, "an address is read as it is written")
        let isSame = again?.origin == address.origin && again?.path == address.path && again?.query == address.query
        require(isSame && again?.fragment == address.fragment, "an address is written as it is read")
        require(address.isSecure || address.scheme != "https", "https is secure")
        require(!address.host.contains("@") && !address.host.contains("/"), "a host is only a host")
        _ = (address.effectivePort, address.pathComponents, ServerMetadata.locations(of: address))
    }

    /// Text of others that is shown.
    static let foreignText = FuzzTarget("foreign-text") { bytes in
        let shown = UntrustedText.shown(bytes.text)
        require(shown.unicodeScalars.count <= 201, "its length is capped")
        for scalar in shown.unicodeScalars {
            let isHarmful =
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                || (0x200B...0x200F).contains(scalar.value) || (0x2028...0x202E).contains(scalar.value)
                || (0x2066...0x2069).contains(scalar.value) || scalar.value == 0xFEFF
            require(!isHarmful, "no control, bidirectional or zero-width character is shown")
        }
        require(UntrustedText.shown(shown, limit: 300).utf8.elementsEqual(shown.utf8), "what is shown stays so")
    }

    /// Dates of records and of HTTP.
    static let times = FuzzTarget("times") { bytes in
        let text = bytes.text
        if let time = Timestamp(rfc3339: text) { require(time.rfc3339 == text, "a date is written as it is read") }
        _ = Timestamp(httpDate: text)
        var number: Int64 = 0
        for byte in bytes.prefix(8) { number = number << 8 | Int64(byte) }
        _ = Timestamp(epochSeconds: number).rfc3339
        _ = Timestamp(epochSeconds: number).adding(number)
    }

    /// Base64 of both alphabets.
    static let base64 = FuzzTarget("base64") { bytes in
        require(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "coding keeps the bytes")
        require(Base64URL.decodeOrdinary(Base64URL.encodeOrdinary(bytes)) == bytes, "coding keeps the bytes")
        let text = bytes.text
        if let decoded = Base64URL.decode(text) { require(Base64URL.encode(decoded) == text, "one text per value") }
    }
}
