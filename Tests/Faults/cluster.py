"""What goes wrong between hosts that share a group and the nodes of their cluster: at random, and case by case."""

import collections
import errno
import os
import random
import shutil
import threading
import time

from fleet import GROUP, MARGIN, PATIENCE, SECRET, STUCK, TYPE, Fleet
from nodes import Authority, signal_if_there
from world import DOCUMENTED, PASSWORD

FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
# Seconds after the provider's answer within which a refresh that was killed may not yet have written it down.
JOURNAL = 5


class Chaos:
    """Refreshes on all hosts all the time, while one fault follows another."""

    def __init__(self, program, seed, faults, accounts, callers):
        self.random, self.faults, self.callers = random.Random(seed), faults, callers
        self.fleet = Fleet(program, accounts)
        self.hosts, self.nodes, self.network = self.fleet.hosts, self.fleet.nodes, self.fleet.network
        self.witness = self.fleet.witness
        self.guard, self.over = threading.Lock(), threading.Event()
        self.kinds, self.statuses = collections.Counter(), collections.Counter()
        self.problems, self.losses, self.longest = [], [], 0
        self.stuck, self.suspects = set(), collections.defaultdict(list)
        self.settled = dict.fromkeys(self.fleet.families, 0.0)
        self.taken_over = self.anew = 0
        self.full_until = 0.0

    def run(self):
        threads = [threading.Thread(target=self.work, args=(host, self.random.random()))
                   for host in self.hosts for _ in range(self.callers)]
        for thread in threads:
            thread.start()
        try:
            for fault in self.faults(self.random):
                self.fail(fault)
                self.settle_all(set(self.stuck) | set(self.suspects))
                if len(self.problems) > 20:
                    break
        except RuntimeError as error:  # What was done until then counts all the same.
            self.problems.append(f"cluster: {error}")
        finally:
            self.over.set()
            for host in self.hosts:
                host.goes.set()
            for thread in threads:
                thread.join()
        self.settle_all(set(self.settled))
        self.finish()

    # Load

    def work(self, host, seed):
        chance = random.Random(seed)
        accounts = sorted(self.settled)
        while not self.over.is_set():
            host.goes.wait()
            account, kind = chance.choice(accounts), chance.random()
            if kind < 0.65:
                result = host.token(account, "--force-refresh")
            elif kind < 0.90:
                result = host.token(account)
            elif kind < 0.97:
                result = host.run(["accounts", "--type", TYPE, "--json"])
            else:
                result = self.fleet.label(host, account)
            self.judge(result, account)

    def judge(self, result, account):
        if result.status == "killed":
            return
        with self.guard:
            self.statuses[result.status] += 1
            self.longest = max(self.longest, result.seconds)
        isToken = result.words[0] == "token"
        if result.status not in DOCUMENTED:
            self.problem(result, "no documented exit status")
        if result.seconds > PATIENCE + MARGIN:
            self.problem(result, "it took too long")
        if SECRET.search(result.errors) or PASSWORD in result.errors + result.output:
            self.problem(result, "a secret is shown")
        if result.status == 0:
            if isToken and not self.witness.accepts(result.output.strip()):
                self.problem(result, "the provider does not accept the token")
            return
        if isToken and result.output:
            self.problem(result, "output in spite of the failure")
        with self.guard:
            if STUCK in result.errors:
                self.stuck.add(account)
            if result.status == 4:
                self.suspects[account].append(result)
        if result.status not in (4, 6) and not (result.status == 5 and result.begun < self.full_until):
            self.problem(result, "an exit status that nothing explains")

    def problem(self, result, text):
        with self.guard:
            self.problems.append(f"cluster, {result.host}: {text}\n    {result}")

    # Faults

    def fail(self, kind):
        fault = kind(self)
        seconds = next(fault, None)
        if seconds is not None:
            self.kinds[kind.__name__] += 1
            time.sleep(seconds)
            next(fault, None)
        self.nodes.wait()
        time.sleep(self.random.uniform(1, 4))

    def some_host(self):
        return self.random.choice(self.hosts)

    # What must hold

    def settle_all(self, accounts):
        for account in sorted(accounts):
            self.settle(account)
            with self.guard:
                self.stuck.discard(account)
                suspects = self.suspects.pop(account, [])
            for result in suspects:
                # A sign-in that was lost since the account was last well explains it.
                if not any(lost == account and result.begun < at for lost, at, _ in self.losses):
                    self.problem(result, f"{account} was not lost")

    def settle(self, account):
        """Refreshes on one host after another until one succeeds; takes over, and signs in anew, where it has to be."""
        limit, rounds = time.monotonic() + 120, 0
        while time.monotonic() < limit:
            answers = []
            for host in self.random.sample(self.hosts, len(self.hosts)):
                result = host.token(account, "--force-refresh")
                self.judge(result, account)
                if result.status == 0:
                    self.settled[account] = time.monotonic()
                    return
                if result.status == 4:
                    return self.sign_in(account, result)
                answers.append(result)
            rounds = rounds + 1 if all(STUCK in result.errors for result in answers) else 0
            if rounds >= 2:
                return self.decide(account, answers[-1])
            time.sleep(2)
        self.problem(answers[-1], f"{account} does not recover")

    def decide(self, account, result):
        """Does what a person has to do about a refresh that nobody knows the end of."""
        if not self.cause(account):
            self.problem(result, f"a refresh of {account} has no end, and nothing was done to it")
        host = self.some_host()
        if self.random.random() < 0.2:
            self.anew += 1
            return self.sign_in(account, None)
        family = self.fleet.families[account]
        self.witness.deliberate.add(family)
        taken = host.token(account, "--force-refresh", "--take-over")
        self.witness.deliberate.discard(family)
        self.taken_over += 1
        if taken.status == 4:
            return self.sign_in(account, taken)
        if taken.status != 0:
            self.problem(taken, f"{account} cannot be taken over")
        self.settled[account] = time.monotonic()

    def sign_in(self, account, refused):
        if refused:
            cause = self.loss(account)
            if not cause:
                self.problem(refused, f"the sign-in of {account} is lost, and nothing explains it")
        host = self.some_host()
        _, self.fleet.families[account] = host.sign_in("--account", account)
        self.settled[account] = time.monotonic()
        if refused:
            self.losses.append((account, self.settled[account], cause))

    def records(self, account):
        family = self.fleet.families[account]
        return [record for record in self.witness.refreshes if record.family == family]

    def cause(self, account):
        """Whether something was done to an account's refreshes since it was last well."""
        since = self.settled[account]
        return any(lost == account and at > since for lost, _, at in self.fleet.deaths) or any(
            record.fault and record.sent > since for record in self.records(account))

    def loss(self, account):
        """The fault by which the newest refresh token of an account came to nobody."""
        for record in reversed(self.records(account)):
            if record.status != 200 or record.next in self.witness.sent:
                continue
            if record.fault == "lost":
                return "an answer that was lost"
            for dead, host, at in self.fleet.deaths:
                if (dead, host) == (account, record.host) and record.sent - 1 <= at <= record.answered + JOURNAL:
                    return "SIGKILL between sending and the journal"
        return None

    def finish(self):
        for account in self.settled:
            for host in self.hosts:
                result = host.token(account)
                if result.status != 0 or not self.witness.accepts(result.output.strip()):
                    self.problem(result, f"{account} gives no token in the end")
        for record in self.witness.twice:
            self.problems.append(f"cluster, {record.host}: the refresh token {record.token} was sent twice")
        deliberate = sum(record.deliberate and record.status == 400 for record in self.witness.refreshes)
        reuses = self.fleet.provider.reuses
        if reuses != deliberate:
            self.problems.append(f"cluster: the provider saw {reuses} tokens again, {deliberate} of them on purpose")
        self.nodes.take_snapshot()
        found, size = self.fleet.leaks()
        self.problems += [f"cluster: {leak}" for leak in found]
        causes = collections.Counter(cause for _, _, cause in self.losses)
        refreshed = self.fleet.provider.control()["counters"]["refreshes"]
        self.notes = [
            f"refreshes {refreshed}, refresh tokens sent twice {len(self.witness.twice)}, on purpose {deliberate}",
            f"sign-ins lost {len(self.losses)}" + "".join(f", {count} by {cause}" for cause, count in causes.items())
            + f"; taken over {self.taken_over}, signed in anew instead {self.anew}",
            f"commands by exit status {dict(sorted(self.statuses.items(), key=str))}, the longest {self.longest:.1f} s",
            f"{size >> 20} MiB of the nodes searched for labels, names, passwords and tokens",
            "faults " + ", ".join(f"{kind} {count}" for kind, count in sorted(self.kinds.items()))]


# Each begins a fault, yields how long it lasts, and ends it; one that cannot be done here yields nothing.

def a_node_cut_off(chaos):
    node = chaos.nodes.numbers[chaos.random.randrange(3)]
    chaos.network.plug(node, False)
    yield chaos.random.uniform(3, 15)
    chaos.network.plug(node, True)


def leader_cut_from_nodes(chaos):
    leader = chaos.nodes.leader()
    for other in chaos.nodes.numbers:
        if other != leader:
            chaos.network.cut(leader, other)
    yield chaos.random.uniform(5, 20)
    chaos.network.mend()


def leader_hears_nothing(chaos):
    leader = chaos.nodes.leader()
    for other in chaos.nodes.numbers:
        if other != leader:
            chaos.network.cut(other, leader, bothWays=False)
    yield chaos.random.uniform(3, 15)
    chaos.network.mend()


def no_quorum(chaos):
    for number in chaos.nodes.numbers[1:]:
        chaos.network.cut(chaos.nodes.numbers[0], number)
    chaos.network.cut(*chaos.nodes.numbers[1:])
    yield chaos.random.uniform(5, 20)
    chaos.network.mend()


def leader_stopped(chaos):
    leader = chaos.nodes.leader()
    chaos.nodes.pause(leader)
    yield chaos.random.uniform(3, 25)
    chaos.nodes.pause(leader, False)


def leader_moved(chaos):
    leader = chaos.nodes.leader()
    status = chaos.nodes.control("endpoint", "status", "-w", "fields", endpoint=chaos.nodes.endpoints[(leader + 1) % 3])
    other = next(line.split()[-1] for line in status.splitlines() if line.startswith('"MemberID"'))
    try:
        chaos.nodes.control("move-leader", f"{int(other):x}", endpoint=chaos.nodes.endpoints[leader])
    except RuntimeError:
        return  # It has been moved by itself.
    yield 1


def a_node_killed(chaos):
    node = chaos.random.randrange(3)
    chaos.nodes.kill(node)
    yield chaos.random.uniform(1, 10)
    chaos.nodes.start(node)


def two_nodes_killed(chaos):
    nodes = chaos.random.sample(range(3), 2)
    for node in nodes:
        chaos.nodes.kill(node)
    yield chaos.random.uniform(2, 10)
    for node in nodes:
        chaos.nodes.start(node)


def a_full_disk(chaos):
    nodes = chaos.nodes
    file = os.open(nodes.small + "/filler", os.O_CREAT | os.O_WRONLY, 0o600)
    # The node writes meanwhile: it is full when nothing more goes in.
    for size in (1 << 20, 4096):
        try:
            while os.write(file, b"\0" * size) == size:
                pass
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    os.close(file)
    junk(chaos, 8)
    yield chaos.random.uniform(3, 10)
    os.unlink(nodes.small + "/filler")
    nodes.wait()
    tidy(chaos)


def no_space(chaos):
    chaos.full_until = float("inf")
    junk(chaos, (chaos.nodes.QUOTA >> 20) + 12)
    yield chaos.random.uniform(3, 10)
    tidy(chaos)
    chaos.full_until = time.monotonic()


def junk(chaos, megabytes):
    """Writes what is nobody's until the nodes take no more."""
    try:
        for number in range(megabytes):
            chaos.nodes.control("put", f"/junk/{number}", endpoint=chaos.nodes.endpoints[0], input="x" * (1 << 20))
    except RuntimeError:
        pass


def tidy(chaos):
    """What an administrator does about a cluster without space."""
    nodes = chaos.nodes
    nodes.control("del", "--prefix", "/junk/")
    status = nodes.control("endpoint", "status", "-w", "fields", endpoint=nodes.endpoints[0])
    revision = next(line.split()[-1] for line in status.splitlines() if line.startswith('"Revision"'))
    try:
        nodes.control("compact", revision)
    except RuntimeError as error:
        if "compacted" not in str(error):
            raise
    nodes.control("defrag", "--command-timeout=30s")
    nodes.control("alarm", "disarm")


def a_host_cut_off(chaos):
    host = chaos.some_host()
    chaos.network.plug(host.number, False)
    yield chaos.random.uniform(2, 20)
    chaos.network.plug(host.number, True)


def a_host_sees_one_node(chaos):
    host, node = chaos.some_host(), chaos.random.randrange(3)
    for other in chaos.nodes.numbers:
        chaos.network.cut(host.number if other != node else node, other)
    yield chaos.random.uniform(5, 20)
    chaos.network.mend()


def a_host_stopped(chaos):
    host = chaos.some_host()
    host.stand_still()
    # Longer than a lease.
    yield chaos.random.uniform(16, 25)
    host.go_on()


def a_host_killed(chaos):
    host = chaos.some_host()
    host.goes.clear()
    for process in list(host.place.processes()):
        host.kill(process)
    yield chaos.random.uniform(1, 18)
    host.goes.set()


def callers_killed(chaos):
    for _ in range(12):
        host = chaos.some_host()
        with host.guard:
            running = list(host.running)
        if running:
            host.kill(chaos.random.choice(running))
        time.sleep(chaos.random.uniform(0, 0.3))
    yield 1


def workers_killed(chaos):
    limit, killed = time.monotonic() + 5, 0
    while killed < 3 and time.monotonic() < limit:
        host = chaos.some_host()
        for process, _ in host.workers():
            time.sleep(chaos.random.uniform(0, 0.1))
            # It may have ended since, and its number be another's.
            if host.account(process):
                host.kill(process)
                killed += 1
            break
    if killed:
        yield 2


def a_worker_stopped(chaos):
    for host in chaos.random.sample(chaos.hosts, len(chaos.hosts)):
        for process, _ in host.workers():
            begun = time.monotonic()
            signal_if_there(process, 19)
            yield chaos.random.uniform(16, 20)
            signal_if_there(process, 18)
            # Whoever waits for its lock has waited for it.
            with host.guard:
                host.stops.append((begun, time.monotonic()))
            return


def answers_lost(chaos):
    chaos.witness.lose("lost")
    yield 2
    chaos.witness.forgive()


def a_provider_in_trouble(chaos):
    for fault in chaos.random.choices([500, 503, "slow"], k=3):
        chaos.witness.lose(fault)
    yield 3
    chaos.witness.forgive()


def a_clock_set(chaos):
    if not os.path.exists(FAKETIME):
        return
    host = chaos.some_host()
    host.disguise = {"LD_PRELOAD": FAKETIME, "FAKETIME": chaos.random.choice(["-2h", "+2h", "+3d", "-400s"]),
                     "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    yield chaos.random.uniform(5, 15)
    host.disguise = {}


FAULTS = [a_node_cut_off, leader_cut_from_nodes, leader_hears_nothing, no_quorum, leader_stopped, leader_moved,
          a_node_killed, two_nodes_killed, a_full_disk, no_space, a_host_cut_off, a_host_sees_one_node, a_host_stopped,
          a_host_killed, callers_killed, workers_killed, a_worker_stopped, answers_lost, a_provider_in_trouble,
          a_clock_set]
QUICK = [callers_killed, workers_killed, a_node_killed, answers_lost]


def endless(minutes):
    """Every fault once, in another order each time, for so many minutes."""
    limit = time.monotonic() + minutes * 60

    def draw(chance):
        while True:
            for fault in chance.sample(FAULTS, len(FAULTS)):
                if time.monotonic() > limit:
                    return
                yield fault
    return draw


def chaos(program, seed, minutes, short):
    """One fault after another, for so many minutes; in short a few."""
    faults = (lambda chance: chance.sample(QUICK, len(QUICK))) if short else endless(minutes)
    world = Chaos(program, seed, faults, 4 if short else 12, 2 if short else 4)
    try:
        world.run()
    finally:
        world.fleet.stop()
    statuses = world.statuses
    tally = {"faults": sum(world.kinds.values()), "done": statuses[0], "aborted": 0, "ended": len(world.losses),
             "refused": sum(count for status, count in statuses.items() if status != 0)}
    return tally, world.problems, [f"seed {seed}", *world.notes]


# MARK: Case by case

class Scene:
    """A fleet, what is expected of it, and what was found."""

    def __init__(self, program, accounts=1, **more):
        self.fleet = Fleet(program, accounts, **more)
        self.alpha, self.beta, self.gamma = self.fleet.hosts
        self.nodes, self.witness = self.fleet.nodes, self.fleet.witness
        self.account = next(iter(self.fleet.families))
        self.tally = {"faults": 0, "done": 0, "refused": 0, "aborted": 0, "ended": 0}
        self.problems = []

    def expect(self, what, host, words, statuses, says=""):
        """Runs a command under a fault, and then one of a group that is this host's alone."""
        result = host.run(words)
        self.tally["faults"] += 1
        self.tally["done" if result.status == 0 else "refused"] += 1
        if result.status not in statuses or says not in result.errors + result.output:
            self.problems.append(f"{what}: expected exit {statuses} and “{says}”\n    {host.name}: {result}")
        if result.seconds > PATIENCE + MARGIN:
            self.problems.append(f"{what}: it took too long\n    {host.name}: {result}")
        if SECRET.search(result.errors) or PASSWORD in result.errors:
            self.problems.append(f"{what}: a secret is shown\n    {host.name}: {result}")
        if result.status == 0 and words[0] == "token" and not self.witness.accepts(result.output.strip()):
            self.problems.append(f"{what}: the provider does not accept the token")
        own = host.run(["token", "--type", "Own", "--force-refresh"])
        if own.status != 0:
            self.problems.append(f"{what}: a group of this host alone suffers\n    {host.name}: {own}")
        return result

    def well(self, what, hosts=None, seconds=30):
        """Every host refreshes again, within so many seconds."""
        for host in hosts or self.fleet.hosts:
            limit = time.monotonic() + seconds
            while True:
                result = host.token(self.account, "--force-refresh")
                if result.status == 0:
                    break
                if time.monotonic() > limit:
                    self.problems.append(f"after {what}: it does not recover\n    {host.name}: {result}")
                    break
                time.sleep(0.5)

    @property
    def refresh(self):
        return ["token", "--type", TYPE, "--account", self.account, "--force-refresh"]

    @property
    def token(self):
        return self.refresh[:-1]

    def finish(self, lost=0):
        reuses = self.fleet.provider.reuses
        if reuses or self.witness.twice:
            self.problems.append(f"refresh tokens were sent twice: {reuses}")
        self.problems += [f"cluster: {leak}" for leak in self.fleet.leaks()[0]]
        return self.tally, self.problems


def scene(play, accounts=1):
    """A row of the table: plays a scene on a fleet of its own."""
    def row(program):
        one = Scene(program, accounts)
        try:
            play(one)
            return one.finish()
        finally:
            one.fleet.stop()
    return row


def refusals(scene):
    """Certificates, roles, names and fingerprints that are not right."""
    fleet, nodes, alpha, beta, gamma = scene.fleet, scene.nodes, scene.alpha, scene.beta, scene.gamma
    foreign = Authority(fleet.folder, "foreign")
    expired = nodes.authority.make("expired", days=(-20, -10))
    join = ["groups", "join", GROUP]
    gamma.must(["groups", "leave", GROUP])
    scene.expect("a name that is taken", gamma, [*join, *gamma.cluster(name="beta")], [2], "is called beta")
    scene.expect("a wrong authority", gamma, [*join, *gamma.cluster(ca=foreign.file)], [7], "--ca")
    scene.expect("a stranger's certificate", gamma, [*join, *gamma.cluster(certificate=foreign.make("gamma"))], [6, 7])
    scene.expect("an expired certificate", gamma, [*join, *gamma.cluster(certificate=expired)], [6, 7])
    scene.expect("a user that the cluster does not know", gamma,
                 [*join, *gamma.cluster(certificate=nodes.authority.make("nobody"))], [5])
    nobody = ["https://10.86.0.2:1"]
    scene.expect("nobody who listens", gamma, [*join, *gamma.cluster(endpoints=nobody)], [6], nobody[0])
    gamma.must([*join, *gamma.cluster()])
    scene.expect("a host that waits", gamma, scene.refresh, [3, 5])
    wrong = ["groups", "admit", GROUP, "gamma", "--fingerprint", "0000-0000-0000-0000"]
    scene.expect("a wrong fingerprint", alpha, wrong, [7])
    scene.expect("a host that still waits", gamma, scene.refresh, [3, 5])
    gamma.must(["groups", "leave", GROUP])
    fleet.let_in(gamma)
    scene.well("joining", [gamma])

    with swapped(beta.certificate, expired):
        scene.expect("an expired certificate of a host that has seen no account", beta, scene.refresh, [6, 7])
    scene.well("an expired certificate", [beta])
    with swapped(beta.certificate, expired):
        scene.expect("an expired certificate of a host", beta, scene.refresh, [6, 7])
        scene.expect("the same, and a token that is valid", beta, scene.token, [0])
    with swapped(nodes.certificate, nodes.authority.make("node-of-old", nodes.addresses, days=(-20, -10))):
        scene.expect("expired certificates of the nodes", beta, scene.refresh, [6, 7])
        scene.expect("the same, and a token that is valid", beta, scene.token, [0])
    nodes.wait()
    scene.well("expired certificates")
    nodes.control("user", "revoke-role", "beta", f"credmgr-{GROUP}")
    scene.expect("a role that is missing", beta, scene.refresh, [5], "permission denied")
    nodes.control("user", "grant-role", "beta", f"credmgr-{GROUP}")
    scene.well("a missing role")


def troubles(scene):
    """No quorum, no space: each answers in time, and a token that is valid is given."""
    nodes, alpha, beta = scene.nodes, scene.alpha, scene.beta
    scene.well("the beginning")
    for node in (0, 1):
        nodes.kill(node)
    scene.expect("no quorum", beta, scene.refresh, [6], nodes.endpoints[2])
    scene.expect("no quorum, and a token that is valid", beta, scene.token, [0])
    scene.expect("no quorum, and a list", beta, ["accounts", "--type", TYPE], [0], "has last seen")
    scene.expect("no quorum, and a sign-out", beta, ["logout", "--account", scene.account], [6])
    nodes.wait()
    scene.well("no quorum")
    junk(scene, (scene.nodes.QUOTA >> 20) + 12)
    scene.expect("no space", alpha, scene.refresh, [5], "no space")
    scene.expect("no space, and a token that is valid", alpha, scene.token, [0])
    scene.expect("no space, and doctor", alpha, ["doctor"], [1], "NOSPACE")
    tidy(scene)
    scene.well("no space")


class swapped:
    """Puts other files, of a certificate and its key, in the place of some while it lasts."""

    def __init__(self, files, others):
        self.files, self.others = files, others

    def __enter__(self):
        for file, other in zip(self.files, self.others):
            shutil.copy(file, file + ".right")
            shutil.copy(other, file)

    def __exit__(self, *_):
        for file in self.files:
            os.replace(file + ".right", file)


def restored(scene):
    """All nodes are put back to a snapshot: whoever knows a newer token sends no used-up one."""
    nodes, alpha, beta, gamma = scene.nodes, scene.alpha, scene.beta, scene.gamma
    alpha.must(scene.refresh)
    snapshot = nodes.take_snapshot()
    beta.must(scene.refresh)
    beta.must(scene.refresh)
    # Each host has seen what came after the snapshot.
    for host in (alpha, gamma):
        host.must(["accounts", "--type", TYPE])
    nodes.restore(snapshot, "restored")
    before = len(scene.witness.refreshes)
    for host in (beta, alpha, gamma):
        result = scene.expect("a restored snapshot", host, scene.refresh, [0, 4, 6])
        scene.tally["ended"] += result.status == 4
    sent = [record for record in scene.witness.refreshes[before:] if record.family == scene.fleet.families[scene.account]]
    if any(record.status != 200 for record in sent):
        scene.problems.append("a restored snapshot: a refresh token that is used up was sent")
    if beta.token(scene.account, "--force-refresh").status != 0:
        beta.sign_in("--account", scene.account)
    scene.well("a restored snapshot")


def another(scene):
    """Another cluster under the same addresses, then the right one again."""
    nodes, beta = scene.nodes, scene.beta
    scene.well("the beginning")
    first = nodes.token
    for node in range(nodes.count):
        nodes.kill(node)
    nodes.token = "another"
    nodes.begin()
    scene.expect("another cluster without users", beta, scene.refresh, [5], "it is another cluster")
    for host in scene.fleet.hosts:
        setup = host.must(["groups", "share", GROUP, "--print-etcd-setup", "--name", host.name]).output
        nodes.let_in(host.name, setup)
    nodes.demand_users()
    for host in scene.fleet.hosts:
        scene.expect("another cluster", host, scene.refresh, [5], "it is another cluster")
    scene.expect("another cluster, and doctor", beta, ["doctor"], [1], "it is another cluster")
    for node in range(nodes.count):
        nodes.kill(node)
    nodes.token = first
    nodes.begin()
    scene.well("another cluster")


def expelled(scene):
    """Who is expelled gets nothing more, and what it knows is worth nothing."""
    alpha, beta, gamma = scene.alpha, scene.beta, scene.gamma
    had = {account: gamma.must(["token", "--type", TYPE, "--account", account]).output for account in scene.fleet.families}
    result = alpha.must(["groups", "expel", GROUP, "gamma"])
    known = len(scene.witness.refreshes)
    for account in scene.fleet.families:
        words = ["token", "--type", TYPE, "--account", account]
        scene.expect("an expelled host that refreshes", gamma, [*words, "--force-refresh"], [5], "does not belong to the group")
        # Until it asks the cluster again it may give what it had.
        given = scene.expect("an expelled host", gamma, words, [0, 5])
        if given.status == 0 and given.output != had[account]:
            scene.problems.append(f"expel: the expelled host got a new token of {account}")
        if not any(record.host == "alpha" and record.status == 200 and record.family == scene.fleet.families[account]
                   for record in scene.witness.refreshes):
            scene.problems.append(f"expel: {account} was not refreshed\n    {result}")
    scene.expect("an expelled host that lists", gamma, ["accounts", "--type", TYPE], [0, 5])
    scene.expect("an expelled host that expels", gamma, ["groups", "expel", GROUP, "alpha"], [5])
    scene.expect("an expelled host that admits", gamma, ["groups", "admit", GROUP, "gamma", "--fingerprint", "0"], [5])
    shared = set(scene.fleet.families.values())
    if any(record.host == "gamma" and record.family in shared for record in scene.witness.refreshes[known:]):
        scene.problems.append("expel: the expelled host has sent a refresh token of the group")
    scene.well("expelling", [alpha, beta])
    scene.expect("a host that leaves after that", gamma, ["groups", "leave", GROUP], [0])


def clocks(scene):
    """Hosts whose clocks are hours apart: no token is refreshed again and again, and none is sent twice."""
    alpha, beta = scene.alpha, scene.beta
    scene.well("the beginning")
    if not os.path.exists(FAKETIME):
        scene.problems.append(f"{FAKETIME} is not there: apt-get install libfaketime")
        return
    for shift in ("+2h", "-2h", "+3d"):
        alpha.disguise = {"LD_PRELOAD": FAKETIME, "FAKETIME": shift, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        before = scene.fleet.provider.control()["counters"]["refreshes"]
        for _ in range(4):
            for host in (alpha, beta):
                result = host.run(scene.token)
                scene.tally["faults"] += 1
                scene.tally["done" if result.status == 0 else "refused"] += 1
                if result.status not in (0, 6) or result.status == 0 and not scene.witness.accepts(result.output.strip()):
                    scene.problems.append(f"a clock set by {shift}: {result}")
        count = scene.fleet.provider.control()["counters"]["refreshes"] - before
        if count > 3:
            scene.problems.append(f"a clock set by {shift}: 8 calls refreshed {count} times")
        alpha.disguise = {}
    scene.well("clocks")


SCENES = [("refusals", refusals, 1), ("troubles", troubles, 1), ("restored", restored, 1), ("another", another, 1),
          ("expelled", expelled, 3), ("clocks", clocks, 1)]
SHORT = {"refusals", "troubles", "expelled"}


def tasks(seed, minutes, short):
    """Name, function, arguments."""
    yield "chaos", chaos, (seed, minutes, short)
    for name, play, accounts in SCENES:
        if not short or name in SHORT:
            yield name, play_scene, (name, accounts)


def play_scene(program, name, accounts):
    return scene(next(play for other, play, _ in SCENES if other == name), accounts)(program)
