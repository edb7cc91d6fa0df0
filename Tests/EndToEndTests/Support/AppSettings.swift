/// The `settings.plist` of the seeds' apps, its placeholders filled with a demo provider's facts.
struct AppSettings {
    /// The keys and values, in the order of the seeds' file; a value is a string, a flag or a list of strings.
    var entries: [(key: String, value: Value)]

    enum Value {
        case text(String), flag(Bool), list([String])
    }

    /// Form A, of the sample on NXOAuth2Client.
    init(base: String, redirectURI: String = "urn:ietf:wg:oauth:2.0:oob", clientID: String = DemoTenant.clientID) {
        let tenant = "\(base)/\(DemoTenant.tenant)"
        entries = [
            ("accountIdentifier", .text(DemoTenant.typeName)),
            ("clientID", .text(clientID)),
            ("clientSecret", .text("")),
            ("authURL", .text("\(tenant)/oauth2/v2.0/authorize?p=b2c_1_sign_in")),
            ("loginURL", .text("\(tenant)/login")),
            ("bhh", .text(redirectURI)),
            ("tokenURL", .text("\(tenant)/oauth2/v2.0/token?p=b2c_1_sign_in")),
            ("keychain", .text(DemoTenant.group)),
            ("contentType", .text("application/x-www-form-urlencoded")),
            ("taskAPI", .text(base)),
        ]
    }

    /// Form B, of the sample on the ADAL preview, with its port behind the path.
    init(formB base: String) {
        let port = base.split(separator: ":").last ?? ""
        entries = [
            ("authority", .text("\(base)/\(DemoTenant.tenant)/")),
            ("clientId", .text(DemoTenant.clientID)),
            ("scopes", .list([DemoTenant.clientID])),
            ("additionalScopes", .list([])),
            ("redirectUri", .text("urn:ietf:wg:oauth:2.0:oob")),
            ("taskWebAPI", .text("http://localhost/tasks:\(port)")),
            ("emailSignUpPolicyId", .text("b2c_1_sign_up")),
            ("faceBookSignInPolicyId", .text("b2c_1_fb_sign_in")),
            ("emailSignInPolicyId", .text("b2c_1_sign_in")),
            ("fullScreen", .flag(false)),
            ("showClaims", .flag(true)),
        ]
    }

    /// Replaces a value, or removes the key.
    subscript(_ key: String) -> Value? {
        get { entries.first { $0.key == key }?.value }
        set {
            let place = entries.firstIndex { $0.key == key }
            switch (place, newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil): entries.remove(at: place)
            case (nil, let value?): entries.append((key, value))
            case (nil, nil): break
            }
        }
    }

    /// The file, each key and each value on a line of its own.
    var plist: String {
        let lines = entries.map { "    <key>\($0.key)</key>\n    \(Self.element($0.value))\n" }.joined()
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0">
            <dict>
            \(lines)</dict>
            </plist>

            """
    }

    private static func element(_ value: Value) -> String {
        switch value {
        case .text(let text): "<string>\(text)</string>"
        case .flag(let flag): flag ? "<true/>" : "<false/>"
        case .list(let texts): "<array>" + texts.map { "<string>\($0)</string>" }.joined() + "</array>"
        }
    }
}
