import CredentialCore
import CryptoSupport
import OAuth
import StrictJSON
import Testing

/// The examples that the standards print; those of RFC 7515, RFC 7638 and RFC 8037 are in CryptoSupportTests.
@Suite struct StandardExampleTests {
    private let cryptography = LibCryptography()

    // MARK: RFC 7517

    private static let modulus = """
        0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3\
        oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA\
        ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-\
        kEgU8awapJzKnqDKgw
        """

    private static let publicKeys: JSONValue = [
        "keys": [
            [
                "kty": "EC", "crv": "P-256", "x": "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",
                "y": "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM", "use": "enc", "kid": "1",
            ],
            ["kty": "RSA", "n": .string(modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29"],
        ]
    ]

    private static let privateKey: JSONValue = [
        "kty": "RSA", "n": .string(modulus), "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
        "d": """
        X4cTteJY_gn4FYPsXB8rdXix5vwsg1FLN5E3EaG6RJoVH-HLLKD9M7dx5oo7GURknchnrRweUkC7hT5fJLM0WbFAKNLWY2vv7B6NqXSzUvxT\
        0_YSfqijwp3RTzlBaCxWp4doFk5N2o8Gy_nHNKroADIkJ46pRUohsXywbReAdYaMwFs9tv8d_cPVY3i07a3t8MN6TNwm0dSawm9v47UiCl3S\
        k5ZiG7xojPLu4sbg1U2jx4IBTNBznbJSzFHK66jT8bgkuqsk0GjskDJk19Z4qwjwbsnn4j2WBii3RL-Us2lGVkY8fkFzme1z0HbIkfz0Y6mq\
        nOYtqc0X4jfcKoAC8Q
        """,
        "p": """
        83i-7IvMGXoMXCskv73TKr8637FiO7Z27zv8oj6pbWUQyLPQBQxtPVnwD20R-60eTDmD2ujnMt5PoqMrm8RfmNhVWDtjjMmCMjOpSXicFHj7\
        XOuVIYQyqVWlWEh6dN36GVZYk93N8Bc9vY41xy8B9RzzOGVQzXvNEvn7O0nVbfs
        """,
        "q": """
        3dfOR9cuYq-0S-mkFLzgItgMEfFzB2q3hWehMuG0oCuqnb3vobLyumqjVZQO1dIrdwgTnCdpYzBcOfW5r370AFXjiWft_NGEiovonizhKpo9\
        VVS78TzFgxkIdrecRezsZ-1kYd_s1qDbxtkDEgfAITAG9LUnADun4vIcb6yelxk
        """,
        "dp": """
        G4sPXkc6Ya9y8oJW9_ILj4xuppu0lzi_H7VTkS8xj5SdX3coE0oimYwxIi2emTAue0UOa5dpgFGyBJ4c8tQ2VF402XRugKDTP8akYhFo5tAA\
        77Qe_NmtuYZc3C3m3I24G2GvR5sSDxUyAN2zq8Lfn9EUms6rY3Ob8YeiKkTiBj0
        """,
        "dq": """
        s9lAH9fggBsoFR8Oac2R_E2gw282rT2kGOAhvIllETE1efrA6huUUvMfBcMpn8lqeW6vzznYY5SSQF7pMdC_agI3nG8Ibp1BUb0JUiraRNqU\
        fLhcQb_d9GF4Dh7e74WbRsobRonujTYN1xCaP6TO61jvWrX-L18txXw494Q_cgk
        """,
        "qi": """
        GyM_p6JrXySiz1toFgKbWV-JdI3jQ4ypu9rbMWx3rQJBfmt0FoYzgUIZEVFEcOqwemRN81zoDAaa-Bk0KWNGDjJHZDdDmFhW3AN7lI-puxk_\
        mHZGJ11rxyR8O55XLSe3SPmRfKwZI6yU24ZxvQKFYItdldUKGzO6Ia6zTKhAVRU
        """,
    ]

    @Test func `the keys of RFC 7517 appendix A serve their declared use`() throws {
        let keys = try JWKSet(try #require(Self.publicKeys.object))
        #expect(keys.keys.count == 2)
        // The first one is for encryption, so no signature is checked with it.
        #expect(keys.candidates(for: .es256, kid: "1").keys.isEmpty)
        let key = try #require(keys.candidates(for: .rs256, kid: "2011-04-29").keys.first)
        #expect(keys.candidates(for: .rs384, kid: "2011-04-29").keys.isEmpty)
        let message = Array("a message".utf8)
        let signature = try cryptography.sign(
            message, algorithm: .rs256, privateKey: Secret(Self.privateKey.text()))
        #expect(try cryptography.verify(signature, of: message, algorithm: .rs256, key: key))
        // A.3: symmetric keys are good for no signature here.
        let symmetric: JSONValue = [
            "keys": [
                ["kty": "oct", "alg": "A128KW", "k": "GawgguFyGrWKav7AX4VKUg"],
                [
                    "kty": "oct", "kid": "HMAC key used in JWS spec Appendix A.1 example",
                    "k": "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow",
                ],
            ]
        ]
        let others = try JWKSet(try #require(symmetric.object))
        for algorithm in SignatureAlgorithm.allCases {
            #expect(others.candidates(for: algorithm, kid: nil).keys.isEmpty)
        }
    }

    // MARK: RFC 7519

    private static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"

    @Test(arguments: [
        (
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9", "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
            "its algorithm 'HS256' is not allowed"
        ),
        ("eyJhbGciOiJub25lIn0", "", "its algorithm 'none' is not allowed"),
    ])
    func `the tokens of RFC 7519 3_1 and 6_1 are read, and not trusted for their algorithms`(
        header: String, signature: String, reason: String
    ) throws {
        let text = "\(header).\(Self.claims).\(signature)"
        let token = try CompactJWT(text)
        #expect(token.claims["iss"] == "joe")
        #expect(token.claims["exp"] == 1_300_819_380)
        #expect(token.claims["http://example.com/is_root"] == true)
        // Everything else about the token would do.
        let validator = IDTokenValidator(
            issuer: "joe", clientID: "app", algorithms: SignatureAlgorithm.allCases,
            now: Timestamp(epochSeconds: 1_300_819_000))
        let error = #expect(throws: CredentialError.self) {
            _ = try validator.validate(text, cryptography: cryptography) { (_, _) throws(CredentialError) in [] }
        }
        #expect(error?.code == .validationFailed)
        #expect(error?.message.hasSuffix(reason) == true)
    }

    // MARK: RFC 9449

    private static let proofHeader = """
        eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0Rs\
        cEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2\
        In19
        """

    @Test func `the proofs of RFC 9449 4_1 and 7_1 are signed as ours, and bound to their token as ours`() throws {
        let requests = [
            (
                """
                eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rv\
                a2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ
                """,
                "2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
            ),
            (
                """
                eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9w\
                cm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlp\
                S0NBcWtzbVFFbyJ9
                """,
                "2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
            ),
        ]
        let tokens = try requests.map { try CompactJWT("\(Self.proofHeader).\($0.0).\($0.1)") }
        for token in tokens {
            let key = try #require(token.header["jwk"]?.object)
            #expect(
                try cryptography.verify(token.signature, of: token.signingInput, algorithm: .es256, key: key))
        }
        #expect(tokens[0].claims["htu"] == "https://server.example.com/token")
        #expect(
            try DPoPKey.hash("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU", cryptography)
                == tokens[1].claims["ath"]?.string)
    }
}
