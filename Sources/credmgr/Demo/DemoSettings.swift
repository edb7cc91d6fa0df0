import CredentialCore
import DemoProvider
import PropertyLists

/// Form A of the seeds' `settings.plist`, its placeholders filled with the demo provider's facts. The account
/// identifier keeps its three c's.
struct DemoSettings {
    let base: String
    let configuration: DemoConfiguration

    /// The client of the walkthrough.
    static let clientID = "580e250c-8f26-49d0-bee8-1c078add1609"
    /// The account type that the file defines.
    static let typeName = "B2C_Acccount"
    /// Its keychain group.
    static let group = "com.microsoft.azureactivedirectory.samples.graph.QuickStart"
    /// The account type of another tool, which the walkthrough adds.
    static let otherTool = "ReportTool"
    /// The user that signs up.
    static let carol = DemoUser(
        email: "carol@example.com", password: Secret("carol's password"), objectID: "", name: "Carol Example")

    var plist: String {
        let tenant = "\(base)/\(configuration.tenant)"
        let keys = [
            ("accountIdentifier", Self.typeName),
            ("clientID", Self.clientID),
            ("clientSecret", ""),
            ("authURL", "\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in"),
            ("loginURL", "\(tenant)/login"),
            ("bhh", "urn:ietf:wg:oauth:2.0:oob"),
            ("tokenURL", "\(tenant)/oauth2/v2.0/token?p=b2c_1_sign_in"),
            ("keychain", Self.group),
            ("contentType", "application/x-www-form-urlencoded"),
            ("taskAPI", base),
        ]
        let entries = keys.map { "    <key>\($0)</key>\n    <string>\($1)</string>\n" }.joined()
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \(entries)</dict>
            </plist>

            """
    }
}
