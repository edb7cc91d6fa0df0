import CredentialCore

/// An error code for the user: its meaning, its usual causes, and the remedies. `credmgr explain` and
/// `docs/troubleshooting.md` have the same text.
struct Explanation {
    /// The meaning of the code, in one sentence.
    let meaning: LocalizedMessage
    /// The usual causes, the most frequent one first.
    let causes: [LocalizedMessage]
    /// The remedies, in the order to try.
    let remedies: [LocalizedMessage]
}

extension ErrorCode {
    /// The explanation of the code for a user.
    var explanation: Explanation {
        switch exitStatus {
        case 2: ofUse
        case 3, 4: ofAccounts
        case 5, 6: ofStoresAndNetwork
        case 7, 8: ofRefusals
        default: ofFailures
        }
    }

    private var ofUse: Explanation {
        switch self {
        case .configuration:
            Explanation(
                meaning: "A file of credmgr is not valid, or the provider refuses what an account type says.",
                causes: [
                    "The issuer, the client ID or the redirect URI is not the one that the provider has.",
                    "The client has a secret, and the account type has none.",
                    "The client may not use the scope or the flow.",
                ],
                remedies: [
                    "Compare 'credmgr types show NAME' with the client's page at the provider.",
                    "Change one key: credmgr types set NAME KEY=VALUE.",
                    "Find a file that is not valid: credmgr doctor.",
                ])
        case .unknownType:
            Explanation(
                meaning: "No file defines the account type.",
                causes: [
                    "The spelling of the name differs; names are case-sensitive.",
                    "The file is in the directory of another user or of another XDG_CONFIG_HOME.",
                ],
                remedies: ["List the types: credmgr types.", "Define an account type, step by step: credmgr init."])
        case .unsupported:
            Explanation(
                meaning: "The provider or the adapter does not have the operation.",
                causes: [
                    "The provider's metadata names no endpoint for it, such as revocation or the device flow.",
                    "Azure AD B2C has no device flow, no revocation and no registration of clients.",
                ],
                remedies: [
                    "If the provider has the endpoint, write it into the account type with 'credmgr types set'.",
                    "Use another flow: credmgr login --help.",
                ])
        default:
            Explanation(
                meaning: "The command line is not valid, or it names something that does not exist.",
                causes: [
                    "An option or argument is misspelled or missing.",
                    "credmgr cannot prompt, because there is no terminal or --no-input is set.",
                ],
                remedies: ["Read the hint, and the help of the command: credmgr COMMAND --help."])
        }
    }

    private var ofAccounts: Explanation {
        switch self {
        case .noSuchAccount:
            Explanation(
                meaning: "No account matches.",
                causes: [
                    "No user has signed in under this account type.",
                    "The account is in another group, or under a type with another issuer or client.",
                ],
                remedies: [
                    "List the accounts: credmgr accounts.", "Sign in: credmgr login --type NAME.",
                ])
        case .ambiguousAccount:
            Explanation(
                meaning: "Several accounts match, and none of them is the default.",
                causes: ["Several users have signed in, and you have not chosen a default."],
                remedies: [
                    "Name the account with --account, or the type with --type.",
                    "Make an account the default: credmgr use ACCOUNT.",
                    "Choose by directory or host: credmgr help rules.",
                ])
        default:
            Explanation(
                meaning: "The account has no valid sign-in.",
                causes: [
                    "The provider has revoked the grant, or you have revoked the grant there.",
                    "The provider issued no refresh token: offline_access is not in the scope.",
                    "A backup brought back a refresh token that is already used.",
                ],
                remedies: [
                    "Run the command of the hint; it signs the same user in again.",
                    "If sign-ins end within the hour, add offline_access: credmgr types set NAME 'scope=…'.",
                ])
        }
    }

    private var ofStoresAndNetwork: Explanation {
        switch self {
        case .storeLocked:
            Explanation(
                meaning: "The secret store is locked, and cannot ask for its password here.",
                causes: [
                    "The desktop's keyring is locked, or the command runs over SSH or from cron.",
                    "The file store has a passphrase, and it was not entered in this session.",
                ],
                remedies: [
                    "Unlock it: credmgr store unlock.",
                    "For cron and services, use the file store with a key file: credmgr store migrate --to file.",
                ])
        case .storeUnavailable:
            Explanation(
                meaning: "The secret store does not exist, does not respond, or refuses to work.",
                causes: [
                    "No keyring runs on the session bus, or there is no session bus.",
                    "The disk is full or read-only.",
                ],
                remedies: [
                    "See which part is missing: credmgr doctor.", "See where secrets are: credmgr store status.",
                ])
        case .storeDamaged:
            Explanation(
                meaning: "A stored secret cannot be read.",
                causes: ["A file was changed, cut or restored without its key."],
                remedies: [
                    "Find the file: credmgr doctor.",
                    "Restore the file and its key from the same backup, or sign in again.",
                ])
        case .lockTimeout:
            Explanation(
                meaning: "Another process has locked the account for too long.",
                causes: [
                    "A provider responds slowly to another credmgr.", "A process is stopped while it has the lock.",
                ],
                remedies: ["Try again; no data is lost.", "Find the process: credmgr doctor."])
        default:
            Explanation(
                meaning: "The network or the provider is temporarily unavailable; stored data did not change.",
                causes: [
                    "There is no connection, or a proxy or firewall is in the way.",
                    "The provider responded with status 429 or 5xx.",
                    "The sign-in was not finished in time.",
                ],
                remedies: [
                    "Try again later.", "Check the connection: credmgr doctor --online.",
                    "See each request: add --verbose.",
                ])
        }
    }

    private var ofRefusals: Explanation {
        switch self {
        case .cancelled:
            Explanation(
                meaning: "You cancelled at the provider or at a prompt.",
                causes: ["The page in the browser or the password window was closed with Cancel."],
                remedies: ["Run the command again."])
        case .validationFailed:
            Explanation(
                meaning: "A token or a response failed validation, and credmgr saved nothing of it.",
                causes: [
                    "The issuer of the account type differs from that of the provider, perhaps by a slash.",
                    "The clock of this machine is wrong.",
                    "The response is for another sign-in, or not from this provider.",
                ],
                remedies: [
                    "Compare the issuer: credmgr types show NAME.", "Check the clock: credmgr doctor --online.",
                    "Sign in again.",
                ])
        case .httpStatus:
            Explanation(
                meaning: "'credmgr request' got an HTTP status of 400 or more.",
                causes: ["The API refuses the request; its response is on standard output."],
                remedies: [
                    "Read the response.",
                    "With status 401 or 403, compare scope and audience: credmgr claims --access-token.",
                ])
        default:
            Explanation(
                meaning: "The user, the provider or a rule has refused.",
                causes: [
                    "You or an administrator did not consent at the provider.",
                    "A different user than the account's has signed in.",
                    "The token may not go to this origin.",
                ],
                remedies: [
                    "Ask the administrator of the provider for consent.",
                    "Sign out in the browser, then sign in as the user of the account.",
                    "Allow an API to receive the token: credmgr types set NAME api_base=URL.",
                ])
        }
    }

    private var ofFailures: Explanation {
        switch self {
        case .noCredential:
            Explanation(
                meaning: "A credential helper has no token for the server or the user.",
                causes: ["No rule and no api_base names the server.", "The program asks for another user name."],
                remedies: ["See the reason: add --verbose.", "Set the program up: credmgr setup PROGRAM."])
        case .inputOutput:
            Explanation(
                meaning: "A file or a stream cannot be read or written.",
                causes: [
                    "The disk is full, or a file belongs to another user.",
                    "The program that reads the output has ended.",
                ],
                remedies: ["Check the directories and their modes: credmgr doctor."])
        case .malformedReply:
            Explanation(
                meaning: "The response of the provider or of a plugin breaks the protocol.",
                causes: ["The address is that of another service, such as a login page or a proxy."],
                remedies: ["See each request: add --verbose.", "Compare the endpoints: credmgr types show NAME."])
        case .problemsFound:
            Explanation(
                meaning: "'credmgr doctor' or a test of adapters found something wrong.",
                causes: ["Each finding names its own cause."],
                remedies: ["Repair what can be repaired: credmgr doctor --fix."])
        case .interrupted:
            Explanation(
                meaning: "A signal interrupted the command.",
                causes: ["You pressed Ctrl-C, or the system ended the process."],
                remedies: ["Run the command again; no data is partly written."])
        default:
            Explanation(
                meaning: "credmgr has a fault.",
                causes: ["A state that the program does not expect."],
                remedies: ["Report it, with the output of: credmgr doctor --report."])
        }
    }
}
