import CredentialCore
import CredmgrCommands

/// `credmgr demo`.
struct DemoWalkthrough: Demonstration {
    let machine: Machine

    func run(_ arguments: ParsedArguments, _ session: Session) throws(CredentialError) {
    }
}
