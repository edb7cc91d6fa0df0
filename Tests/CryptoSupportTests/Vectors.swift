import CredentialCore
import StrictJSON
import Testing

/// A signature that a standard prints.
struct PrintedSignature: Sendable, CustomTestStringConvertible {
    let source: String
    let algorithm: SignatureAlgorithm
    let key: JSONObject
    let message: String
    let signature: String

    var testDescription: String { source }

    static let all = [rs256, es256, es512, edDSA]

    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    static let rs256 = PrintedSignature(
        source: "RFC 7515 A.2", algorithm: .rs256,
        key: jwk([
            "kty": "RSA", "e": "AQAB",
            "n": """
            ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SF\
            d2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo\
            7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkM\
            Ls91kzk2PAcDTW9gb54h4FRWyuXpoQ
            """,
        ]),
        message: "eyJhbGciOiJSUzI1NiJ9." + claims,
        signature: """
            cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb\
            F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383\
            LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy\
            wlVmtVrBp0igcN_IoypGlUPQGe77Rw
            """)

    static let es256 = PrintedSignature(
        source: "RFC 7515 A.3", algorithm: .es256,
        key: jwk([
            "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        ]),
        message: "eyJhbGciOiJFUzI1NiJ9." + claims,
        signature:
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")

    static let es512 = PrintedSignature(
        source: "RFC 7515 A.4", algorithm: .es512,
        key: jwk([
            "kty": "EC", "crv": "P-521",
            "x": "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
            "y": "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
        ]),
        message: "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA",
        signature: """
            AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgo\
            XD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn
            """)

    static let edDSA = PrintedSignature(
        source: "RFC 8037 A.4", algorithm: .edDSA,
        key: jwk(["kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"]),
        message: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
        signature: "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
}

/// A key written as a literal.
func jwk(_ value: JSONValue) -> JSONObject { value.object ?? JSONObject() }

extension JSONObject {
    /// The key with other members; `nil` takes a member away.
    func with(_ changes: [String: JSONValue?]) -> JSONObject {
        var copy = self
        for (name, value) in changes { copy[name] = value }
        return copy
    }
}

/// The bytes of hexadecimal digits; spaces do not count.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] * 16 + digits[$0 + 1]) }
}

/// The bytes of base64url.
func base64url(_ text: String) -> [UInt8] { Base64URL.decode(text) ?? [] }
