import CredentialCore

/// Mail programs.
extension SetupRecipe {
    private static let mailRefusals = ["failed", "No authenticators", "Could not"]

    static let neomutt = SetupRecipe(
        name: "neomutt", summary: "IMAP and SMTP by OAuth"
    ) { (request, programs) throws(CredentialError) in
        let path = request.existing(
            [
                request.home + "/.neomuttrc", request.home + "/.muttrc", request.configHome + "/mutt/muttrc",
                request.configHome + "/neomutt/neomuttrc",
            ], programs)
        let command = request.quotedLine("token")
        return SetupPlan(
            edits: [
                block(
                    "neomutt", path,
                    [
                        "set imap_authenticators=\"oauthbearer:xoauth2\"",
                        "set imap_oauth_refresh_command=\"\(command)\"",
                        "set smtp_authenticators=\"oauthbearer:xoauth2\"",
                        "set smtp_oauth_refresh_command=\"\(command)\"",
                    ], keys: ["imap", "smtp"].map { "set \($0)_oauth_refresh_command" })
            ], proof: neomuttProof(request, path, programs),
            notes: request.host == nil
                ? [
                    "not verified: that the mail server accepts the token; to verify it, use "
                        + "--host IMAP-SERVER[:PORT]"
                ] : [])
    }

    /// Opens the mailbox, on a terminal of its own: neomutt has no other way.
    private static func neomuttProof(
        _ request: SetupRequest, _ path: String, _ programs: any ProcessPort
    ) -> SetupPlan.Proof {
        guard let host = request.host, let user = request.username else {
            return .init(
                program: "token",
                words: [request.command, "token"] + request.selection + ["--format", "xoauth2"], output: ["\n"])
        }
        let program = programs.isProgram("neomutt") ? "neomutt" : "mutt"
        let script = #"""
            d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && export d rc="$1" box="imaps://$2@$3/INBOX" TERM=xterm
            script -qec "exec \#(program) -n -F \"\$rc\" -e \"set folder='\$d'\" -z -f \"\$box\"" /dev/null
            """#
        return .init(
            program: program, words: ["sh", "-c", "exec 2>&1 </dev/null; " + script, "sh", path, user, host],
            output: ["Authenticating ("], refusals: mailRefusals)
    }

    static let msmtp = SetupRecipe(
        name: "msmtp", summary: "an account with XOAUTH2", isByType: true
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType(), host = try request.neededHost()
        let path = request.existing([request.home + "/.msmtprc", request.configHome + "/msmtp/config"], programs)
        let parts = host.split(separator: ":").map(String.init)
        let user = request.username ?? "USER"
        return SetupPlan(
            edits: [
                block(
                    "msmtp \(type)", path,
                    [
                        "account credmgr-\(type)", "host \(parts.first ?? host)",
                        "port \(parts.count == 2 ? parts[1] : "587")", "tls on",
                        "tls_starttls \(parts.last == "465" ? "off" : "on")", "auth xoauth2", "user \(user)",
                        "from \(user)", "passwordeval \(request.line("token"))",
                    ], keys: ["account credmgr-\(type)"])
            ],
            // A sender that no server accepts: the server reports that only to a signed-in user, and no mail is
            // sent.
            proof: call(
                "msmtp", #"msmtp -C "$1" -a "$2" --from='<' -- "$3""#, [path, "credmgr-\(type)", user],
                answers: ["envelope from address"], refusals: mailRefusals))
    }

    static let mbsync = SetupRecipe(
        name: "mbsync", summary: "an IMAP account with XOAUTH2", isByType: true
    ) { (request, programs) throws(CredentialError) in
        let type = try request.neededType(), host = try request.neededHost()
        let path = request.existing([request.configHome + "/isyncrc", request.home + "/.mbsyncrc"], programs)
        let parts = host.split(separator: ":").map(String.init)
        let command = request.quotedLine("token")
        return SetupPlan(
            edits: [
                block(
                    "mbsync \(type)", path,
                    [
                        "IMAPAccount credmgr-\(type)", "Host \(parts.first ?? host)",
                    ] + (parts.count == 2 ? ["Port \(parts[1])"] : []) + [
                        "User \(request.username ?? "USER")", "AuthMechs XOAUTH2", "SSLType IMAPS",
                        "PassCmd \"\(command)\"", "",
                    ], keys: ["IMAPAccount credmgr-\(type)"])
            ],
            // The mailboxes are listed, over a channel of the moment.
            proof: call(
                "mbsync",
                #"""
                d=$(mktemp -d) && trap 'rm -r "$d"' EXIT && { cat "$1"
                    printf '\nIMAPStore credmgr-far\nAccount "%s"\n\nMaildirStore credmgr-near\nPath "%s/"\n' "$2" "$d"
                    printf 'Inbox "%s/INBOX"\n\nChannel credmgr-proof\nFar :credmgr-far:\nNear :credmgr-near:\n' "$d"
                    printf 'Patterns *\n'; } >"$d/rc" && mbsync -c "$d/rc" -l credmgr-proof && echo listed
                """#, [path, "credmgr-\(type)"], answers: ["listed"]),
            notes: ["mbsync needs a SASL plugin for XOAUTH2: libsasl2-modules-kdexoauth2, or cyrus-sasl-xoauth2"])
    }
}
