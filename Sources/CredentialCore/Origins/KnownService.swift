/// A service that a command of this program is for, such as `credmgr aws`: its own servers need no rule. Any other
/// that is named in their place needs one, the loopback not excepted.
package enum KnownService: Sendable {
    /// AWS's token service (STS), in the partitions below `amazonaws.com`.
    case awsTokenService

    /// Whether `destination` is one of the service's own servers: by https, at the usual port.
    package func isAt(_ destination: Destination) -> Bool {
        guard destination.scheme == "https", destination.isAtStandardPort else { return false }
        switch self {
        case .awsTokenService: return Self.isAWSTokenService(destination.host)
        }
    }

    /// The address of AWS's token service; `nil` if `region` is not a region. So no foreign word leads to another
    /// address below `amazonaws.com`, under which anyone may have a name.
    ///
    /// - Parameter region: `nil` for the service of all regions.
    package static func awsTokenServiceAddress(region: String?) -> String? {
        guard let region else { return "https://sts.amazonaws.com/" }
        guard isRegion(region) else { return nil }
        return "https://sts.\(region).amazonaws.com\(region.hasPrefix("cn-") ? ".cn" : "")/"
    }

    private static func isAWSTokenService(_ host: String) -> Bool {
        if host == "sts.amazonaws.com" { return true }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard labels.count >= 4, ["sts", "sts-fips"].contains(labels[0]), isRegion(labels[1]) else { return false }
        return Array(labels[2...]) == ["amazonaws", "com"] + (labels[1].hasPrefix("cn-") ? ["cn"] : [])
    }

    /// Whether it looks like `eu-central-1` and `us-gov-west-1`.
    private static func isRegion(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count >= 3, let number = parts.last, (1...2).contains(number.utf8.count) else { return false }
        return number.utf8.allSatisfy { (0x30...0x39).contains($0) }
            && parts.dropLast().allSatisfy { part in
                part.utf8.count >= 2 && part.utf8.allSatisfy { (0x61...0x7A).contains($0) }
            }
    }
}
