extension AccountType {
    /// The keys of the definition that say who the client is and how it proves that, for messages: none that is not set.
    package var clientKeys: [String] {
        var keys = ["client_id"]
        if clientSecret != nil { keys.append("client_secret") }
        if privateKey != nil { keys.append("private_key") }
        if tlsClientCertificate != nil { keys.append("tls_client_certificate") }
        if tokenEndpointAuthMethod != nil { keys.append("token_endpoint_auth_method") }
        return keys
    }
}
