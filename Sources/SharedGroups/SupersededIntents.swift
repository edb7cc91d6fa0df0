import CredentialCore
import StrictJSON

/// The late-answer record beside the token set of an account whose intents were taken over: the hosts whose answers
/// may still come, and the answers that came too late to be the set.
///
/// An answer that was in the set once may have been sent, and must never come back; one that never was may be the
/// only live token. A host that comes back with an answer cannot tell by itself, since both look the same when it
/// ended before it had noted which. So who takes an intent over names it here, in the same transaction.
struct SupersededIntents: Hashable {
    /// The intents that were taken over and whose answers have not come, the oldest first.
    private var awaited: [IntentNonce] = []
    /// The answers that came since, the oldest first.
    private var answers: [LateResponse] = []

    /// How many of each are kept; the oldest go first.
    private static let limit = 8

    init() {}

    /// Whether it is empty.
    var isEmpty: Bool { awaited.isEmpty && answers.isEmpty }

    /// Whether an intent was taken over, and its answer has not come.
    func awaits(_ nonce: IntentNonce) -> Bool { awaited.contains(nonce) }

    /// The newest answer to a refresh token of a policy: who has it does not send that token again.
    func answer(to token: TokenDigest, of policy: String) -> LateResponse? {
        answers.last { $0.replaced == token && $0.policy == policy }
    }

    /// The newest answer of a policy that belongs to a sign-in: the one to try when the token in the set is
    /// refused.
    func newest(of policy: String, in line: TokenFamily?) -> LateResponse? {
        answers.last { $0.policy == policy && $0.tokenSet.lines[policy]?.id == line?.id }
    }

    /// Notes that an intent was taken over whose answer may still come.
    mutating func await(_ nonce: IntentNonce) {
        guard !awaited.contains(nonce) else { return }
        awaited = Array((awaited + [nonce]).suffix(Self.limit))
    }

    /// Keeps an answer that has come.
    mutating func keep(_ answer: LateResponse) {
        guard !answers.contains(where: { $0.nonce == answer.nonce }) else { return }
        forget(answer.nonce)
        answers = Array((answers + [answer]).suffix(Self.limit))
    }

    /// Forgets an intent and its answer: that is in the set now.
    mutating func forget(_ nonce: IntentNonce) {
        awaited.removeAll { $0 == nonce }
        answers.removeAll { $0.nonce == nonce }
    }

    /// As it is sealed.
    var encoded: [UInt8] {
        var object = JSONObject()
        object["version"] = 1
        object["awaited"] = JSONValue(awaited.map { Base64URL.encode($0.bytes) })
        object["answers"] = .array(answers.map { .object($0.json) })
        return JSONValue.object(object).bytes()
    }

    /// Reads the sealed content.
    ///
    /// - Throws: ``ErrorCode/storeDamaged``.
    init(decoding bytes: [UInt8]) throws(CredentialError) {
        guard let object = try? JSONValue.parse(bytes, limits: .ownFile).object, object["version"] == 1,
            let awaited = object["awaited"]?.array, let answers = object["answers"]?.array
        else { throw Self.damaged }
        for value in awaited {
            guard let nonce = value.string.flatMap(Base64URL.decode).flatMap(IntentNonce.init(bytes:)) else {
                throw Self.damaged
            }
            self.awaited.append(nonce)
        }
        for value in answers {
            guard let object = value.object else { throw Self.damaged }
            self.answers.append(try LateResponse(json: object))
        }
    }

    private static var damaged: CredentialError {
        CredentialError(
            .storeDamaged, "the record of late responses in the cluster is not valid", hint: "credmgr doctor")
    }
}
