import CredentialCore

/// Clouds.
extension SetupRecipe {
    static let aws = SetupRecipe(
        name: "aws", summary: "a profile with a credential_process"
    ) { (request, programs) throws(CredentialError) in
        let role = try request.needed("role-arn", "the role for the credentials")
        let profile = request.values["profile"] ?? "credmgr"
        let path = request.set("AWS_CONFIG_FILE") ?? request.home + "/.aws/config"
        let process = request.line("aws", "--role-arn", role)
        return SetupPlan(
            edits: [
                block(
                    "aws \(profile)", path, section: profile == "default" ? "[default]" : "[profile \(profile)]",
                    ["credential_process = \(process)"],
                    // Any of them gives the source of the credentials.
                    keys: [
                        "credential_process", "role_arn", "web_identity_token_file", "sso_session",
                        "sso_start_url", "aws_access_key_id", "login_session",
                    ])
            ],
            proof: programs.isProgram("aws")
                ? .init(
                    program: "aws", words: ["aws", "--profile", profile, "sts", "get-caller-identity"],
                    output: ["Arn"])
                : .init(
                    program: "credential_process",
                    words: [request.command, "aws", "--role-arn", role] + request.selection,
                    output: ["AccessKeyId"]),
            notes: programs.isProgram("aws") ? [] : ["not verified by aws: aws is not installed"])
    }

    static let google = SetupRecipe(
        name: "google", summary: "a credential file of the type external_account", isByType: true
    ) { (request, _) throws(CredentialError) in
        let type = try request.neededType()
        let audience = try request.needed(
            "audience", "//iam.googleapis.com/projects/N/locations/global/workloadIdentityPools/POOL/providers/NAME"
        )
        let path = request.configHome + "/credmgr/google-\(type).json"
        let command = request.quotedLine("google")
        let text = """
            {
              "comment": "\(SetupEdit.mark)",
              "type": "external_account",
              "audience": "\(audience)",
              "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
              "token_url": "https://sts.googleapis.com/v1/token",
              "credential_source": {"executable": {"command": "\(command)", "timeout_millis": 30000}}
            }

            """
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: false)],
            proof: .init(
                program: "the executable", words: [request.command, "google"] + request.selection,
                output: ["\"success\":true"]),
            notes: [
                "export GOOGLE_APPLICATION_CREDENTIALS=\(path) GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1",
                "not verified: that Google's token service accepts the token",
            ])
    }

    static let azure = SetupRecipe(
        name: "azure", summary: "a command az for Azure's libraries"
    ) { (request, _) throws(CredentialError) in
        let path = request.linkFolder + "/az"
        let type = request.type.map { "CREDMGR_TYPE=\($0) " } ?? ""
        let text = "#!/bin/sh\n# \(SetupEdit.mark)\n\(type)exec \(ShellQuoting.quoted(request.command)) az \"$@\"\n"
        return SetupPlan(
            edits: [.file(text, path: path, isProgram: true)],
            proof: .init(
                program: "az", words: [path, "account", "get-access-token", "-o", "json"], output: ["accessToken"]),
            notes: [
                "Azure's libraries look in PATH: export PATH=\"\(request.linkFolder):$PATH\"",
                "not verified: that Azure accepts the token",
            ])
    }
}
