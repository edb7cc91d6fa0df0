import CredentialCore
import StrictJSON

@testable import SharedGroups

/// The records that an expelled host whose role in the cluster was not taken away puts there: it has the keys of
/// its time, and another machine.
extension World {
    /// The name of its other machine.
    static let accomplice = "evil"

    /// The forged key that it has stored.
    struct Forgery {
        let content: [UInt8]
        let outcast: [UInt8]
        /// The key of its other machine.
        let accomplice: [UInt8]
        /// Whether it is one of its own, and not one that the group had.
        let isNew: Bool
    }

    /// A key of the group that the host has had, as some host keeps it.
    private struct FormerKey {
        let epoch: KeyEpoch
        let key: DataKey
    }

    /// Restores the record of a key that it has, changes that, or makes a key of its own; each time with a host
    /// that it proves by the key it has.
    func meddle() {
        guard let host = hosts.last(where: \.isExpelled), let outcast = host.publicKey, let newest,
            let former = formerKeys(of: outcast).max(by: { $0.epoch.number < $1.epoch.number }),
            let backend = hosts[0].files[ClusterConfiguration.fileName],
            let groupID = try? ClusterConfiguration(fileContent: backend, of: Self.group).groupID
        else { return }
        let random = SimulatedRandom(world: self), cryptography = ToyCryptography(random: random)
        let wrap = KeyWrap(groupID: groupID, cryptography: cryptography, random: random)
        var evil = GroupHost(
            name: Self.accomplice, publicKey: cryptography.makeAgreementKey().publicKey,
            joinedAt: Timestamp(epochSeconds: Self.start))
        var changes: [ClusterTransaction.Change] = []
        do throws(CredentialError) {
            evil.admission = try wrap.admission(of: evil, key: former.key.bytes, epoch: former.epoch.number)
            let members = cluster.content.records.values.filter { $0.key.hasPrefix(Self.path + "hosts/") }
                .compactMap { try? GroupHost($0) }.filter { $0.name != Self.accomplice }
                .sorted { $0.name < $1.name }
            let named =
                newest.expelled
                + [RevokedHost(name: host.name, publicKey: outcast)].filter { !newest.has($0) }
            if draw(4) { return try changeSettings(former, of: outcast, wrap) }
            let forged: KeyEpoch
            var provingKey = former.key.bytes
            switch schedule.random.below(3) {
            case 0: forged = former.epoch
            case 1:
                forged = KeyEpoch(
                    number: former.epoch.number, expelled: named,
                    hosts: members.map(\.whenGivenKey) + [evil.whenGivenKey])
            default:
                forged = try newest.next(
                    expelling: host.name, named, known: newest,
                    hosts: members.map(\.whenGivenKey) + [evil.whenGivenKey], random)
                let key = try wrap.dataKey(
                    random.bytes(32), of: forged, former: [former.epoch.number: former.key])
                provingKey = key.bytes
                let made = cryptography.makeAgreementKey()
                for member in members {
                    changes.append(
                        .put(
                            "\(Self.path)keys/\(forged.number)/\(member.name)",
                            try wrap.wrap(
                                key, for: member,
                                by: .init(privateKey: made.privateKey, publicKey: made.publicKey))))
                }
            }
            changes += try settings(wrap, provingKey, forged.number)
            changes += [
                .put(Self.path + "epoch", forged.encoded), .put(Self.path + "hosts/evil", evil.encoded),
                .put("\(Self.path)keys/\(forged.number)/-epoch", forged.encoded),
            ]
            forgeries[forged.number, default: []].append(
                Forgery(
                    content: forged.encoded, outcast: outcast, accomplice: evil.publicKey,
                    isNew: forged.number != former.epoch.number))
            tell("somebody who was expelled puts the key \(forged.number) there")
        } catch { problems.append("nobody can meddle: \(error.message)") }
        var transaction = ClusterTransaction()
        transaction.changes = changes
        cluster.apply(transaction)
        wasRestored = true
    }

    /// Has the hosts agree on something else while the newest key stays, proven by one that it has.
    private func changeSettings(
        _ former: FormerKey, of outcast: [UInt8], _ wrap: KeyWrap
    ) throws(CredentialError) {
        var transaction = ClusterTransaction()
        let number = draw(2) ? newest?.number : nil
        transaction.changes = try settings(wrap, former.key.bytes, number ?? former.epoch.number)
        changedSettings.append(Forgery(content: [], outcast: outcast, accomplice: [], isNew: false))
        tell("somebody who was expelled changes what the hosts agree on")
        cluster.apply(transaction)
        wasRestored = true
    }

    /// The settings that it would have the hosts agree on.
    private func settings(
        _ wrap: KeyWrap, _ key: [UInt8], _ epoch: Int64
    ) throws(CredentialError) -> [ClusterTransaction.Change] {
        guard let record = cluster.content.records[Self.path + "group"] else { return [] }
        var settings = GroupSettings()
        settings.takeOverSeconds = 0
        return [
            .put(
                record.key, try GroupFacts(record).encoded(agreeing: settings, wrap, key: key, epoch: epoch))
        ]
    }

    private func formerKeys(of outcast: [UInt8]) -> [FormerKey] {
        hosts.flatMap { host in
            host.keptEpochs.compactMap { epoch in
                guard !epoch.has(RevokedHost(name: "", publicKey: outcast)),
                    forgeries[epoch.number]?.contains(where: \.isNew) != true,
                    let wrapped = host.files["key-\(epoch.number)"], let bytes = Self.dataKey(wrapped)
                else { return nil }
                let digest = ToyCryptography.digest(epoch.encoded)
                return FormerKey(
                    epoch: epoch, key: DataKey(epoch: epoch.number, bytes: bytes, recordDigest: digest))
            }
        }
    }

    /// A data key as the simulation's seal has it, behind the clear part of a wrap.
    private static func dataKey(_ wrapped: [UInt8]) -> [UInt8]? {
        let content = Array(wrapped.dropFirst(1 + 32 + 32 + 12).dropLast(16))
        return (try? JSONValue.parse(content))?.object?["key"]?.string.flatMap(Base64URL.decode)
    }
}

extension SimulatedHost {
    /// The epochs whose key it has.
    var keptEpochs: [KeyEpoch] {
        files.filter { $0.key.hasPrefix("epoch-") }.sorted { $0.key < $1.key }
            .compactMap { KeyEpoch(content: $0.value) }
    }
}

extension SimulatedProcess {
    /// Whether its host had a key at its begin, or has made one, that names the expelled host and is not the forged
    /// one. The knowledge that another process of the host gains meanwhile may come too late.
    func knows(_ forged: World.Forgery) -> Bool {
        (knewEpochs + madeEpochs).contains {
            $0.encoded != forged.content && $0.has(RevokedHost(name: "", publicKey: forged.outcast))
        }
    }

    /// Whether it knows so of the record under a number. A forged record that its host has taken without knowing
    /// that counts as its own.
    func knows(_ forged: World.Forgery, as number: Int64) -> Bool {
        knows(forged) && (!forged.isNew || host.files["epoch-\(number)"] != forged.content)
    }
}
