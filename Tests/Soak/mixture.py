"""What happens in a soak: every command, in an order that a seed draws, with kills, stops and faults."""

import concurrent.futures
import os
import random
import signal
import threading
import time

from crowd import Crowd, Member, identifier
from disasters import signal_if_there
from stage import GROUPS, USERS, Stage

# Of `moves` each user has one account, so that an archive of it can be imported; of the others many.
ACCOUNTS = {"north": 8, "south": 8, "moves": 2}
# Calls that fail once in a run: none that loses the provider's response on its way.
CALLS = ["openat", "renameat", "fsync", "fdatasync", "unlinkat", "flock", "fallocate", "ftruncate", "fstat", "mkdirat"]
ERRORS = ["EIO", "ENOSPC", "EACCES", "EINTR", "EMFILE"]


class Soak:
    def __init__(self, options):
        self.random = random.Random(options.seed)
        self.options = options
        self.stage = Stage(options.binary, options.stores.split(","))
        self.crowd = Crowd(lambda text: print(f"soak: {text}", flush=True))
        self.lifetime = 100
        self.archives, self.archive_number = [], 0
        self.archive_guard = threading.Lock()
        self.part, self.known_reuses = 1, 0
        self.steps = self.drawn()

    def run(self):
        crowd = self.crowd
        for group, number in ACCOUNTS.items():
            for place in range(number):
                member = Member(group, USERS[place % 2])
                crowd.members.append(member)
                with member.existence:
                    self.sign_in(member, may_fail=False)
        end = time.monotonic() + self.options.minutes * 60
        with concurrent.futures.ThreadPoolExecutor(max_workers=self.options.jobs) as pool:
            while time.monotonic() < end and not crowd.faults:
                look = min(end, time.monotonic() + self.options.look)
                while time.monotonic() < look and not crowd.faults:
                    self.round(pool)
                self.look()
        if not crowd.faults:
            self.finish()
        return self.report()

    def round(self, pool):
        # Every token issued so far is at its end for who asks for more than it has left.
        self.lifetime += 100
        trouble = self.random.random()
        self.stage.control(
            access_token_lifetime=self.lifetime, reply_milliseconds=self.random.choice([0, 0, 5, 20, 60, 300]),
            failures=self.random.choice([1, 2, 5]) if trouble < 0.2 else 0,
            failure_status=self.random.choice([429, 500, 503]))
        jobs = [pool.submit(self.step, random.Random(self.random.random())) for _ in range(24)]
        for job in jobs:
            job.result()

    def drawn(self):
        return [
            (24, self.killed_token), (22, self.token), (5, self.forced), (4, self.refresh_all), (6, self.replace),
            (3, self.renew), (3, self.kill_worker), (4, self.stop), (4, self.migrate), (4, self.rekey),
            (4, self.doctor), (4, self.move), (3, self.archive), (3, self.take_archive), (8, self.look_around),
            (2, self.begin_sign_in), (1, self.lose_keyring), (8, self.fail_call)]

    def step(self, draw):
        if self.crowd.faults:
            return
        chosen = draw.choices([step for _, step in self.steps], [weight for weight, _ in self.steps])[0]
        try:
            chosen(draw, draw.choice(self.crowd.members))
        except Exception as error:  # A step that cannot run is shown, and fails the whole.
            self.crowd.fault(f"{chosen.__name__} did not run: {error!r}")

    # Tokens

    def words_of(self, draw, member):
        scope = draw.choice(["read", "write"])
        return ["token", "--type", f"{member.group}-{scope}", "--account", member.id, "--min-valid",
                str(self.lifetime - 50)]

    def ask(self, draw, member, what, more=(), kill_after=None):
        seen = member.changes, member.id
        if member.id:
            ending = self.stage.call(*self.words_of(draw, member), *more, kill_after=kill_after)
            self.crowd.expect_of(member, seen, ending, what)

    def token(self, draw, member):
        self.ask(draw, member, "token")

    def killed_token(self, draw, member):
        self.ask(draw, member, "token", kill_after=draw.random() * self.options.kill)

    def forced(self, draw, member):
        self.ask(draw, member, "token --force-refresh", ["--force-refresh"])

    def refresh_all(self, draw, member):
        words = ["refresh", "--all", "--group", member.group, "--min-valid", str(self.lifetime - 50)]
        # Some of them may be signed out meanwhile, or have ended; the next look tells which.
        self.crowd.expect(self.stage.call(*words, kill_after=self.kill(draw, 0.2)), "refresh --all", (0, 3, 4))

    def kill(self, draw, chance):
        return draw.random() * self.options.kill * 4 if draw.random() < chance else None

    # Sign-ins

    def login(self, member, *more):
        return ["login", "--type", member.group + "-read", *more, "--username", member.user + "@example.com",
                "--password-file", self.stage.passwords[member.user]]

    def sign_in(self, member, may_fail=True, draw=None):
        """Signs an account in until credmgr says that it is. The caller holds its existence."""
        store = (draw or self.random).choice(self.stage.stores)
        duplicate = ["--duplicate"] if member.group != "moves" else []
        for attempt in range(8):
            kill = self.kill(draw, 0.3) if draw and attempt == 0 else None
            ending = self.stage.call(*self.login(member, *duplicate), store=store, kill_after=kill)
            self.crowd.expect(ending, "login")
            self.crowd.note(ending, [member.group])
            if ending.status == 0:
                member.id, member.may_have_ended = identifier(ending.output), False
                member.changes += 1
                return
            if not may_fail or self.crowd.faults:
                raise RuntimeError(str(ending))
        # The next look tries again.
        member.id = None
        member.changes += 1

    def sign_out(self, draw, member):
        """Signs an account out. The caller holds its existence."""
        account, member.changes = member.id, member.changes + 1
        if account is None:
            return True
        ending = self.stage.call("logout", "--account", account, "--group", member.group,
                                 kill_after=self.kill(draw, 0.2))
        isDone = self.crowd.expect(ending, "logout")
        if ending.status == 0:
            self.crowd.gone.add(account)
        else:
            self.crowd.uncertain.add(account)
        member.id = None
        return isDone

    def replace(self, draw, member):
        """Signs an account out while others refresh it, and another one in."""
        if not member.existence.acquire(blocking=False):
            return
        try:
            self.sign_out(draw, member)
            self.sign_in(member, draw=draw)
        finally:
            member.existence.release()

    def renew(self, draw, member):
        """Signs a person in again over the account that is there."""
        if not member.id or not member.existence.acquire(blocking=False):
            return
        try:
            ending = self.stage.call(*self.login(member, "--account", member.id, "--group", member.group),
                                     store=draw.choice(self.stage.stores), kill_after=self.kill(draw, 0.4))
            self.crowd.expect(ending, "login --account")
            self.crowd.note(ending, [member.group])
        finally:
            member.existence.release()

    def begin_sign_in(self, draw, member):
        self.crowd.expect(self.stage.call("login", "--type", member.group + "-read", "--flow", "code", "--print-url",
                                          kill_after=self.kill(draw, 0.5)), "login --print-url", (0, 2))

    # Archives

    def new_archive(self):
        with self.archive_guard:
            self.archive_number += 1
            return f"{self.stage.folder}/archive-{self.archive_number}"

    def export(self, path, *more):
        ending = self.stage.call("accounts", "export", path, "--passphrase-file", self.stage.passphrase, *more)
        # Whoever is named may have ended, and there may be nobody just then.
        self.crowd.expect(ending, "accounts export", (0, 3, 4))
        return ending.status == 0

    def take(self, draw, path, *more):
        # The file may be older than what this machine has seen, and nobody in it be taken over.
        ending = self.stage.call("accounts", "import", path, "--passphrase-file", self.stage.passphrase, *more,
                                 kill_after=self.kill(draw, 0.3), store=draw.choice(self.stage.stores))
        self.crowd.expect(ending, "accounts import", (0, 4))
        self.note_import(ending)
        return ending

    def archive(self, draw, member):
        path = self.new_archive()
        if self.export(path, "--group", draw.choice(GROUPS[:2])):
            with self.archive_guard:
                self.archives.append(path)
                while len(self.archives) > 4:
                    os.unlink(self.archives.pop(0))

    def take_archive(self, draw, member):
        """Imports what was exported a while ago: nobody comes twice, and no used refresh token is taken over."""
        with self.archive_guard:
            archives = list(self.archives)
        if archives and os.path.exists(path := draw.choice(archives)):
            ending = self.stage.call("accounts", "import", path, "--passphrase-file", self.stage.passphrase,
                                     kill_after=self.kill(draw, 0.3), store=draw.choice(self.stage.stores))
            self.note_import(ending)
            if os.path.exists(path):
                self.crowd.expect(ending, "accounts import", (0, 4))

    def note_import(self, ending):
        """Notes whom an import has taken over, and that one that did not end well may have taken over others."""
        with self.crowd.guard:
            self.crowd.taken.update(filter(None, map(identifier, ending.output.splitlines())))
        self.crowd.note(ending, GROUPS)

    def move(self, draw, _):
        """Exports an account, signs it out and imports it, as from one machine to another."""
        member = draw.choice([member for member in self.crowd.members if member.group == "moves"])
        if not member.id or not member.existence.acquire(blocking=False):
            return
        try:
            path = self.new_archive()
            if not self.export(path, "--account", member.id, "--group", member.group):
                return
            if self.sign_out(draw, member):
                ending = self.take(draw, path)
                # A refresh token whose response was lost is used up here, too.
                member.id = identifier(ending.output)
                member.changes += 1
                if member.id:
                    self.crowd.count("accounts moved")
            os.unlink(path)
            # It was refreshed after the export, or the import was killed.
            if not member.id:
                self.sign_in(member, draw=draw)
        finally:
            member.existence.release()

    # Stores

    def migrate(self, draw, member):
        store = draw.choice(self.stage.stores)
        more = ["--group", draw.choice(GROUPS)] if draw.random() < 0.7 else []
        ending = self.stage.call("store", "migrate", "--to", store, *more, kill_after=self.kill(draw, 0.5))
        self.crowd.expect(ending, "store migrate")
        self.crowd.note(ending, more[1:] or GROUPS)

    def rekey(self, draw, member):
        opener = ["--key-file"] if draw.random() < 0.7 else ["--passphrase-file", self.stage.passphrase]
        more = ["--group", draw.choice(GROUPS)] if draw.random() < 0.7 else []
        ending = self.stage.call("store", "rekey", *opener, *more, kill_after=self.kill(draw, 0.5))
        self.crowd.expect(ending, "store rekey")

    def doctor(self, draw, member):
        self.crowd.expect(self.stage.call("doctor", "--fix", "--yes", kill_after=self.kill(draw, 0.4)), "doctor --fix",
                          (0, 1))

    # The rest

    def look_around(self, draw, member):
        account, seen = member.id, (member.changes, member.id)
        words = [["accounts"], ["accounts", "--json"], ["doctor"], ["store", "status"], ["groups"], ["types"],
                 ["notify", "--dry-run"], ["store", "unlock"], ["store", "lock"], ["presets"]]
        if account:
            group = ["--group", member.group]
            words += [["which", "--type", member.group + "-read", "--account", account],
                      ["use", account, "--type", member.group + "-read"], ["label", account, f"l{account}", *group],
                      ["claims", "--type", member.group + "-read", "--account", account],
                      ["accounts", "show", account, *group],
                      ["exec", "--type", member.group + "-read", "--account", account, "--", "true"],
                      ["oidc-token", account]]
        chosen = draw.choice(words)
        ending = self.stage.call(*chosen)
        if ending.status in (3, 4):
            self.crowd.expect_of(member, seen, ending, chosen[0])
        else:
            # `doctor` ends with 1 where something is wrong; of some commands not every machine has what they need.
            self.crowd.expect(ending, chosen[0], (0, 1, 2, 7) if chosen[0] != "accounts" else (0,))

    # Kills, stops and faults

    def kill_worker(self, draw, member):
        """Kills the worker of a refresh, whose response may be lost with it: in every second part of the run."""
        if self.part % 2 or not member.id or not member.existence.acquire(blocking=False):
            return
        try:
            member.may_have_ended = True
            thread = threading.Thread(target=self.forced, args=(draw, member))
            before = set(self.stage.processes())
            thread.start()
            limit = time.monotonic() + 5
            while thread.is_alive() and time.monotonic() < limit:
                for process, words in self.stage.processes().items():
                    if process not in before and member.id in words:
                        for child in self.stage.children(process):
                            time.sleep(draw.random() * self.options.kill)
                            signal_if_there(child, signal.SIGKILL)
                            self.stage.log(f"killed the worker {child} of {member.id}")
                            self.crowd.count("workers killed")
                            limit = 0
                time.sleep(0.001)
            thread.join()
        finally:
            member.existence.release()

    def stop(self, draw, member):
        seconds = draw.choice([0.2, 1, 3, 7]) if self.options.minutes > 3 else draw.choice([0.1, 0.5, 2])
        self.crowd.count("processes stopped", self.stage.stop_some(draw, draw.choice([0.3, 1]), seconds))

    def lose_keyring(self, draw, member):
        if self.stage.lose_keyring():
            self.crowd.count("keyring killed")

    def fail_call(self, draw, member):
        """Lets one system call of a command fail, in the command itself or in what it starts."""
        if not self.stage.may_trace or not member.id:
            return
        group = ["--group", draw.choice(GROUPS)]
        words = draw.choice([
            self.words_of(draw, member), self.words_of(draw, member) + ["--force-refresh"],
            ["store", "migrate", "--to", draw.choice(self.stage.stores), *group], ["store", "rekey", "--key-file", *group],
            ["doctor", "--fix", "--yes"], ["refresh", "--all", *group, "--min-valid", str(self.lifetime - 50)]])
        fault = f"inject={draw.choice(CALLS)}:error={draw.choice(ERRORS)}:when={draw.randrange(1, 40)}"
        prefix = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "signal=none", "-e", "trace=none", "-e", fault]
        ending = self.stage.call(*words, prefix=prefix)
        if words[:2] == ["store", "migrate"]:
            self.crowd.note(ending, group[1:])
        self.crowd.expect_any(ending, " ".join(words[:2]) if words[0] == "store" else words[0])

    # What must hold

    def look(self):
        """Lets everything end, and looks whether every account is there and gives a token."""
        crowd, stage = self.crowd, self.stage
        if crowd.faults:
            return
        stage.control(reply_milliseconds=0, failures=0)
        self.revive_keyring()
        if not stage.wait_for_workers(200):
            return crowd.fault(f"these have not ended: {stage.processes()}")
        for name in stage.held_locks():
            crowd.fault(f"the lock {name} is still held")
        ended = 0
        for member in crowd.members:
            ended += self.look_at(member)
        reuses = stage.counters["reuses_detected"]
        if reuses > self.known_reuses and self.part % 2:
            crowd.fault(f"{reuses - self.known_reuses} refresh tokens were used twice")
        self.part, self.known_reuses = self.part + 1, reuses
        crowd.count("sign-ins ended by a killed worker", ended)
        listed = stage.listed()
        for account in crowd.gone & set(listed):
            crowd.fault(f"account {account} is back after its sign-out: {listed[account]}")
        self.mend(listed)
        crowd.count("looks")

    def look_at(self, member):
        """Whether an account has ended as its worker was killed."""
        with member.existence:
            if member.id is None:
                self.sign_in(member)
                return 0
            words = ["token", "--type", member.group + "-read", "--account", member.id, "--force-refresh"]
            for _ in range(4):
                ending = self.stage.call(*words)
                if ending.status not in (5, 6):
                    break
                self.revive_keyring()
                # What a fault has left is repaired.
                self.stage.call("doctor", "--fix", "--yes")
            if ending.status == 4 and member.may_have_ended:
                self.sign_out(random.Random(1), member)
                self.sign_in(member)
                return 1
            if ending.status != 0:
                self.crowd.fault(f"account {member.id} of {member.group} is lost: {ending}; listed as "
                                 f"{self.stage.listed().get(member.id)}")
            member.may_have_ended = False
            return 0

    def revive_keyring(self):
        if self.stage.revive_keyring():
            self.crowd.count("keyring ended by itself")

    def mend(self, listed):
        """Repairs, and removes whom nobody has asked for: those of sign-ins that were killed."""
        stage, crowd = self.stage, self.crowd
        # Those that are an hour old were left by who was killed.
        for path in stage.temporary_files():
            os.utime(f"{stage.home}/{path}", (1, 1))
        stage.call("doctor", "--fix", "--yes")
        known = {member.id for member in crowd.members}
        for account, entry in stage.listed().items():
            if account not in known:
                if not crowd.explains(account, entry["group"]):
                    crowd.fault(f"account {account} of {entry['group']} is there, and nobody knows from where: {entry}")
                ending = stage.call("logout", "--account", account, "--group", entry["group"])
                if crowd.expect(ending, "logout of who is left over"):
                    crowd.gone.add(account)
        for doubts in (crowd.uncertain, crowd.taken, crowd.interrupted):
            doubts.clear()
        again = stage.call("doctor")
        if again.status != 0:
            crowd.fault(f"doctor finds after its repair: {again.output}{again.errors}")
        if left := stage.temporary_files():
            crowd.fault(f"left after the repair: {', '.join(left[:5])}")

    def finish(self):
        """Signs everybody out: no secret is left."""
        stage, crowd = self.stage, self.crowd
        self.revive_keyring()
        crowd.expect(stage.call("logout", "--all", "--yes"), "logout --all")
        for group in GROUPS:
            stage.call("logout", "--all", "--yes", "--group", group)
        if left := stage.listed():
            crowd.fault(f"still there after everybody was signed out: {', '.join(left)}")
        if stage.keyring and stage.keyring.items:
            crowd.fault(f"{stage.keyring.items} token sets are left in the keyring")
        for folder in ["accounts", "journal"]:
            if left := [name for name in stage.files(f"groups/*/{folder}/*")]:
                crowd.fault(f"left after everybody was signed out: {', '.join(left[:5])}")

    def report(self):
        counters = self.stage.counters
        crowd = self.crowd
        print(f"token requests {counters['token_requests']}, refreshes {counters['refreshes']}, "
              f"reuses {counters['reuses_detected']}, "
              + ", ".join(f"{what} {count}" for what, count in sorted(crowd.counts.items())))
        print("nothing was lost" if not crowd.faults else f"{len(crowd.faults)} faults; what is left is in {self.stage.folder}")
        self.stage.stop(keeps=bool(crowd.faults))
        return 1 if crowd.faults else 0
