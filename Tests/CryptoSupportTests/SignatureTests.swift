import CredentialCore
import CryptoSupport
import StrictJSON
import Testing

@Suite struct SignatureTests {
    let cryptography = LibCryptography()

    @Test(arguments: PrintedSignature.all)
    func `the printed signature holds`(_ printed: PrintedSignature) throws {
        #expect(
            try cryptography.verify(
                base64url(printed.signature), of: Array(printed.message.utf8), algorithm: printed.algorithm,
                key: printed.key))
    }

    @Test(arguments: PrintedSignature.all)
    func `a bit flipped in any byte of the signature breaks it`(_ printed: PrintedSignature) throws {
        let signature = base64url(printed.signature)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1 << UInt8(index % 8)
            let holds = try cryptography.verify(
                changed, of: Array(printed.message.utf8), algorithm: printed.algorithm, key: printed.key)
            #expect(!holds, "byte \(index)")
        }
    }

    @Test(arguments: PrintedSignature.all)
    func `a changed message or a signature of another length does not hold`(_ printed: PrintedSignature) throws {
        let signature = base64url(printed.signature), message = Array(printed.message.utf8)
        for (signature, message) in [
            (signature, message + [0x20]), (signature, []), ([], message), (signature + [0], message),
            ([0] + signature, message), (signature.dropLast(), message),
            ([UInt8](repeating: 0, count: signature.count), message),
            ([UInt8](repeating: 0xFF, count: signature.count), message),
        ] {
            let holds = try cryptography.verify(
                signature, of: message, algorithm: printed.algorithm, key: printed.key)
            #expect(!holds)
        }
    }

    @Test func `Ed25519 signs as RFC 8037 prints`() throws {
        let printed = PrintedSignature.edDSA
        let key = printed.key.with(["d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"])
        let signature = try cryptography.sign(
            Array(printed.message.utf8), algorithm: .edDSA, privateKey: Secret(JSONValue.object(key).text()))
        #expect(Base64URL.encode(signature) == printed.signature)
    }

    @Test func `ECDSA in DER is no JWS signature`() throws {
        let printed = PrintedSignature.es256
        let raw = base64url(printed.signature)
        let der: [UInt8] = [0x30, 0x45, 0x02, 0x20] + raw.prefix(32) + [0x02, 0x21, 0x00] + raw.suffix(32)
        let holds = try cryptography.verify(
            der, of: Array(printed.message.utf8), algorithm: .es256, key: printed.key)
        #expect(!holds)
    }

    @Test func `R or S of zero or of the order does not hold`() throws {
        let printed = PrintedSignature.es256
        let raw = base64url(printed.signature)
        let order = hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
        let zero = [UInt8](repeating: 0, count: 32)
        for (r, s) in [(zero, Array(raw.suffix(32))), (Array(raw.prefix(32)), zero), (order, order)] {
            let holds = try cryptography.verify(
                r + s, of: Array(printed.message.utf8), algorithm: .es256, key: printed.key)
            #expect(!holds)
        }
    }

    @Test(arguments: SignatureAlgorithm.allCases)
    func `the signature of a new key is valid under its public key only`(_ algorithm: SignatureAlgorithm) throws {
        let message = Array("a message".utf8)
        let pair = try cryptography.generateKey(algorithm), other = try cryptography.generateKey(algorithm)
        let signature = try cryptography.sign(message, algorithm: algorithm, privateKey: pair.privateKey)
        #expect(try cryptography.verify(signature, of: message, algorithm: algorithm, key: pair.publicJWK))
        #expect(try !cryptography.verify(signature, of: message, algorithm: algorithm, key: other.publicJWK))
    }

    @Test func `an RSA signature holds for its own padding and digest only`() throws {
        let message = Array("a message".utf8)
        let algorithms: [SignatureAlgorithm] = [.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        let pair = try cryptography.generateKey(.rs256)
        for made in algorithms {
            let signature = try cryptography.sign(message, algorithm: made, privateKey: pair.privateKey)
            for checked in algorithms {
                let holds = try cryptography.verify(
                    signature, of: message, algorithm: checked, key: pair.publicJWK)
                #expect(holds == (made == checked), "\(made) \(checked)")
            }
        }
    }

    @Test func `a private key with another key's public part cannot sign`() throws {
        for algorithm in [SignatureAlgorithm.rs256, .es256, .edDSA] {
            let mine = try cryptography.generateKey(algorithm), other = try cryptography.generateKey(algorithm)
            let mixed = try #require(try JSONValue.parse(mine.privateKey.reveal()).object)
                .with(other.publicJWK.members.reduce(into: [:]) { $0[$1.name] = $1.value })
            let error = #expect(throws: CredentialError.self) {
                try cryptography.sign(
                    [1], algorithm: algorithm, privateKey: Secret(JSONValue.object(mixed).text()))
            }
            #expect(error?.code == .configuration)
        }
    }
}
