"""What is done while something fails, and what must hold afterwards."""

import re

from world import DOCUMENTED, PASSWORD, World

# libgcrypt and GLib, which libsecret uses, end the process where they get no file or no thread.
ABORTED = "a library gave up"
SECRET = re.compile(r"[A-Za-z0-9_-]{40,}")


class Scene:
    """One command in one store. Tallies what its faults led to."""

    def __init__(self, program, store, name, home=None):
        self.world = World(program, store, needs_keyring=name == "migrate", home=home)
        self.name, self.store = name, store
        self.other = "file" if store == "secret-service" else "secret-service"
        self.tally = {"faults": 0, "done": 0, "refused": 0, "aborted": 0, "ended": 0}
        self.problems = []
        self.left = 0
        if name != "login":
            self.world.sign_in()
        self.redirected = None

    @property
    def words(self):
        return {
            "login": self.world.password_login,
            "complete": ["login", "--complete", self.redirected],
            "token": ["token", "--type", "Tasks"],
            "refresh": ["token", "--type", "Tasks", "--force-refresh"],
            "logout": ["logout", "--type", "Tasks"],
            "migrate": ["store", "migrate", "--to", self.other],
        }[self.name]

    def prepare(self):
        """Brings about the state that the command starts from."""
        if self.name == "complete":
            # Not on standard input, which is read byte by byte: a thousand calls that are all alike.
            self.redirected = self.world.redirect()

    def run(self, prefix=(), environment=None):
        return self.world.run(self.words, prefix, environment=environment)

    def judge(self, result, fault, revocable=False):
        """Checks how a run with a fault ended and what it left; tallies it. Leaves the state to start from."""
        self.tally["faults"] += 1
        if result.status == 127 and "loading shared libraries" in result.errors:
            self.tally["refused"] += 1  # The program did not even begin.
        elif result.status not in DOCUMENTED:
            self.problem(fault, result, "no documented exit status")
        elif result.status == 0:
            self.tally["done"] += 1
        else:
            self.tally["aborted" if ABORTED in result.errors else "refused"] += 1
            # The write that fails may be that of the error.
            if "credmgr: error: " not in result.errors and not fault.startswith("write "):
                self.problem(fault, result, "no error is shown")
            # What was moved before the failure is listed, and is moved.
            if result.output and self.name != "migrate":
                self.problem(fault, result, "output in spite of the failure: " + result.output[:40])
        if SECRET.search(result.errors) or PASSWORD in result.errors + result.output:
            self.problem(fault, result, "a secret is shown")
        try:
            getattr(self, "after_" + self.name)(result, fault, revocable)
        except AssertionError as error:
            self.problem(fault, result, str(error))
            self.recover()

    def problem(self, fault, result, text):
        self.problems.append(f"{self.store} {self.name}, {fault}: {text}\n    {result}")

    def recover(self):
        world = self.world
        world.run(["logout", "--all", "--yes"])
        if self.name != "login":
            world.sign_in()

    def after_token(self, result, fault, revocable):
        if result.status == 0 and result.output.count(".") != 2:
            self.problem(fault, result, "no token")
        self.world.must(["token", "--type", "Tasks"])

    def after_refresh(self, result, fault, revocable):
        reuses = self.world.provider.reuses
        self.after_token(result, fault, revocable)
        refreshed = self.world.must(["token", "--type", "Tasks", "--force-refresh"], 0, 4)
        if refreshed.status == 4:
            if not (revocable and self.world.provider.reuses > reuses):
                self.problem(fault, refreshed, "the sign-in is lost")
            self.tally["ended"] += 1
            self.recover()

    def after_login(self, result, fault, revocable):
        world = self.world
        found = world.must(["token", "--type", "Tasks"], 0, 3).status
        if result.status == 0 and found != 0:
            self.problem(fault, result, "it said that it was done")
        world.sign_in()
        world.must(["token", "--type", "Tasks"])
        if len(world.accounts("Tasks")) != 1:
            self.problem(fault, result, "two accounts of one person")
        world.must(["logout", "--type", "Tasks"])
        world.must(["token", "--type", "Tasks"], 3)
        self.check_keyring(result, fault)

    def after_complete(self, result, fault, revocable):
        found = self.world.must(["token", "--type", "Pages"], 0, 3).status
        if result.status == 0 and found != 0:
            self.problem(fault, result, "it said that it was done")
        self.world.must(["token", "--type", "Tasks"])

    def after_logout(self, result, fault, revocable):
        # A sign-out that failed half-way may leave the account listed, without its secrets: exit 4.
        found = self.world.must(["token", "--type", "Tasks"], 0, 3, *([4] if result.status else [])).status
        if result.status == 0 and found != 3:
            self.problem(fault, result, "it said that it was done")
        self.world.must(["logout", "--all", "--yes"])
        self.world.must(["token", "--type", "Tasks"], 3)
        self.check_keyring(result, fault)
        self.world.sign_in()

    def after_migrate(self, result, fault, revocable):
        world = self.world
        world.must(["token", "--type", "Tasks"])
        store = world.accounts("Tasks")[0]["store"]
        if (result.status == 0 or result.output.startswith("moved")) and store != self.other:
            self.problem(fault, result, "it said that it was done")
        world.must(["store", "migrate", "--to", self.other])
        world.must(["store", "migrate", "--to", self.store])
        self.check_keyring(result, fault, 1 if self.store == "secret-service" else 0)
        world.must(["token", "--type", "Tasks"])

    def check_keyring(self, result, fault, expected=0):
        """The keyring holds as many secrets as there are accounts; what is left behind is told once."""
        left = self.world.keyring.items - expected if self.world.keyring else 0
        if left > self.left:
            self.problem(fault, result, "a secret without an account stays in the keyring")
        self.left = left

    def stop(self):
        self.world.stop()
