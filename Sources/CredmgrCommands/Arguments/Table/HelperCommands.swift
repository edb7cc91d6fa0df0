extension CommandTable {
    /// What other programs call, each by its own protocol.
    static let helpers = Section(
        "For other programs", [exec, git, docker, kubernetes, azure, azureAccount, azureToken, oidcAgent])

    private static let exec = CommandSpec(
        ["exec"], "run a command with a token",
        details: """
            Runs the command with a token in its environment as ACCESS_TOKEN, and with CREDMGR_TOKEN_FILE naming a \
            private file that holds a token, too, and is kept valid while the command runs. The file is in memory and \
            goes with the command. Exit status and signals pass through.
            """,
        parameters: [
            .required("command", .any("COMMAND", .file), "the command"),
            .variadic("argument", .any("ARGUMENT", .file), "its arguments"),
        ],
        options: [
            SharedOption.type,
            SharedOption.account,
            SharedOption.policy,
            SharedOption.scope,
            .value("env", .any("NAME"), "the variable to use instead of ACCESS_TOKEN"),
        ],
        examples: [
            .init("a script that reads ACCESS_TOKEN", "credmgr exec --type ToDoList -- ./backup.sh"),
            .init("under another name", "credmgr exec --type GitHub --env GH_TOKEN -- gh pr list"),
        ],
        exitStatuses: [3, 4, 5, 6, 7], runsProgram: true)

    private static let git = CommandSpec(
        ["git-credential"], "give tokens to git",
        details: """
            A credential helper of git. A server gets a token only if api_base or api_origins of an account type \
            name it, or a rule of config.json with its host; for all others git asks its next helper. A token that \
            the server refuses is renewed. Nothing is stored.
            """,
        parameters: [
            .required("operation", .any("OPERATION", .words(["get", "store", "erase"])), "get, store or erase")
        ],
        options: [SharedOption.type, SharedOption.account],
        examples: [
            .init(
                "for one server",
                "git config --global credential.https://git.example.com.helper '!credmgr git-credential'"),
            .init("installed as git-credential-credmgr", "git config --global credential.helper credmgr"),
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let docker = CommandSpec(
        ["docker-credential"], "give tokens to docker",
        details: """
            A credential helper of docker, as docker-credential-credmgr in its search path. A registry gets a token \
            under the conditions of git-credential. Nothing is stored, so 'docker login' is not for these \
            registries; 'erase' leaves the sign-in as it is.
            """,
        parameters: [
            .required(
                "operation", .any("OPERATION", .words(["get", "store", "erase", "list"])),
                "get, store, erase or list")
        ],
        options: [SharedOption.type, SharedOption.account],
        examples: [
            .init(
                "in ~/.docker/config.json", "{\"credHelpers\": {\"registry.example.com\": \"credmgr\"}}")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let kubernetes = CommandSpec(
        ["kubernetes"], "give tokens to kubectl",
        details: """
            A credential plugin of kubectl (client.authentication.k8s.io/v1 and v1beta1). With provideClusterInfo, \
            the cluster's extension client.authentication.k8s.io/exec may name type, account, policy, scope, \
            resource and audience; options count more.
            """,
        options: [
            SharedOption.type,
            SharedOption.account,
            SharedOption.policy,
            SharedOption.scope,
            SharedOption.resource,
            SharedOption.audience,
            .flag("id-token", "give the id token"),
        ],
        examples: [
            .init(
                "set up a user",
                "kubectl config set-credentials me --exec-api-version=client.authentication.k8s.io/v1 "
                    + "--exec-interactive-mode=Never --exec-command=credmgr --exec-arg=kubernetes --exec-arg=--type=Cluster"
            )
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let azure = CommandSpec(["az"], role: .namespace, "the Azure CLI's command for tokens")

    private static let azureAccount = CommandSpec(
        ["az", "account"], role: .namespace, "the Azure CLI's command for tokens")

    private static let azureToken = CommandSpec(
        ["az", "account", "get-access-token"], "print a token as the Azure CLI does",
        details: """
            Answers like the command of the Azure CLI, for programs that call that: with a script called az that \
            runs 'credmgr az "$@"'. --query takes one name. A token is valid for at least five minutes.
            """,
        options: [
            SharedOption.type,
            SharedOption.account,
            SharedOption.scope,
            .value("resource", .any("URI"), "the resource; its scope is URI/.default"),
            .value(
                "resource-type",
                .choice("NAME", ["aad-graph", "arm", "batch", "data-lake", "media", "ms-graph", "oss-rdbms"]),
                "a resource by the Azure CLI's name for it"),
            .value("tenant", short: "t", .any("TENANT"), "refuse accounts of another tenant"),
            .value("subscription", short: "s", .any("ID"), "printed again; tokens do not depend on it"),
            .value("output", short: "o", .choice("FORMAT", ["json", "jsonc", "tsv"]), "how to print it"),
            .value("query", .any("NAME"), "print one value only"),
        ],
        examples: [
            .init("the usual call", "credmgr az account get-access-token --query accessToken -o tsv")
        ],
        exitStatuses: [3, 4, 5, 6, 7])

    private static let oidcAgent = CommandSpec(
        ["oidc-token"], "print a token as oidc-agent does",
        details: """
            Takes the options of oidc-agent's oidc-token. The account type stands for the short name; an issuer's \
            URL stands for the type that has it.
            """,
        parameters: [
            .optional("name-or-issuer", .any("TYPE|ISSUER", .accountType), "the account type, or its issuer")
        ],
        options: [
            .value("time", short: "t", .any("SECONDS"), "how long the token must still be valid"),
            .flag("force-new", short: "f", "refresh even if the token is still valid"),
            .list("scope", short: "s", .any("SCOPES"), "the scopes wanted"),
            .value("aud", .any("URI"), "the resource the token is for (RFC 8707)"),
            .flag("id-token", "print the id token"),
            .flag("all", short: "a", "print token, issuer and expiry, a line each"),
            .flag("env", short: "c", "print shell commands that set OIDC_AT, OIDC_ISS and OIDC_EXP"),
            .optional("token", short: "o", .any("VAR"), "print the token, or set VAR to it"),
            .optional("issuer", short: "i", .any("VAR"), "print the issuer, or set VAR to it"),
            .optional("expires-at", short: "e", .any("VAR"), "print when the token ends, or set VAR to it"),
            .flag("bearer", "print 'Bearer' and the token"),
            .flag("auth-header", "print the header field, without a newline"),
            .value("name", .any("NAME"), "taken for compatibility; nobody is asked, so no name is shown"),
            SharedOption.account,
        ],
        examples: [.init("the usual call", "credmgr oidc-token --time 60 ToDoList")],
        exitStatuses: [3, 4, 5, 6, 7])
}
