import CredentialCore
import Testing

@testable import Commands

struct GroupsExpelTests {
    @Test func `the advice to sign in again includes revocation only if the provider supports it`() throws {
        let account = Account(
            id: "0123456789abcdef", type: "ToDo", adapter: "azure-b2c",
            registration: ClientIdentity(provider: "b2c", clientID: "client"), subject: "sub", store: .etcd,
            now: Timestamp(epochSeconds: 0))
        let group = try KeychainGroup("work"), logout = "credmgr logout --account 0123456789abcdef --group work"
        let login = "&& credmgr login --type ToDo --group work"
        let revoked = GroupsExpelCommand.anew(account, group, revokes: true).description
        #expect(revoked == "\(logout) --revoke \(login)")
        let not = GroupsExpelCommand.anew(account, group, revokes: false).description
        #expect(not.hasSuffix(": \(logout) \(login)") && not.contains("has no revocation"))
    }
}
