"""Who is signed in while the soak runs, and what each command may end with."""

import re
import threading

# What anybody may be told while locks are held by who was stopped, the provider fails or the keyring is away.
PASSING = {5, 6}
DOCUMENTED = {0, 2, 3, 4, 5, 6, 7, 8, 130}


class Member:
    """An account that credmgr has said to have signed in."""

    def __init__(self, group, user):
        self.group, self.user = group, user
        self.id = None
        # Held by who signs it out or in; tokens are asked for by all at once.
        self.existence = threading.Lock()
        # How often it was signed out or in.
        self.changes = 0
        # Whether a worker of it was killed: the response that it had may be lost, and with it the sign-in.
        self.may_have_ended = False


class Crowd:
    """The accounts, and what was found wrong."""

    def __init__(self, say):
        self.say = say
        self.guard = threading.Lock()
        self.members = []
        self.gone = set()  # signed out, and credmgr has said so
        self.uncertain = set()  # a sign-out was killed or failed: they may be there, with or without their secrets
        self.counts, self.faults = {}, []

        self.taken = set()  # what an import has said to have taken over: nobody asks for their tokens
        # Since the last look: the groups in which a sign-in, an import or a migration was killed or failed. It may have left accounts.
        self.interrupted = set()

    def explains(self, account, group):
        """Whether an account that nobody has asked for may be there."""
        return account in self.uncertain or account in self.taken or group in self.interrupted

    def note(self, ending, groups):
        """Notes a call that may leave accounts in groups if it does not end well."""
        if ending.status != 0:
            with self.guard:
                self.interrupted.update(groups)

    def count(self, what, number=1):
        with self.guard:
            self.counts[what] = self.counts.get(what, 0) + number

    def fault(self, what):
        with self.guard:
            self.faults.append(what)
        self.say(what)

    def expect(self, ending, what, allowed=(0,)):
        """Counts a call, and finds fault with a status that nothing explains."""
        if ending.status is None:
            self.count(f"{what} killed")
        elif ending.status in allowed:
            self.count(what)
        elif ending.status in PASSING:
            self.count(f"{what} put off")
        else:
            self.fault(f"{what}: {ending}")
        return ending.status == 0

    def expect_of(self, member, seen, ending, what):
        """As `expect`, for a call about an account as it was when the call began (`seen`)."""
        ended = ending.status in (3, 4)
        if ended and (member.changes, member.id) != seen:
            self.count(f"{what} of who was signed out")
        elif ended and member.existence.locked():
            self.count(f"{what} of who was signed out")
        elif ended and member.may_have_ended:
            self.count(f"{what} of who may have ended")
        else:
            self.expect(ending, what)

    def expect_any(self, ending, what):
        """A call under an injected fault: it ends in a documented way, and what it did is judged at the next look."""
        if ending.status == 1 or ending.status in DOCUMENTED or ending.status is None:
            self.count(f"{what} under a fault")
        else:
            self.fault(f"{what} under a fault: {ending}")


def identifier(text):
    """The id at the begin of what `login` and `accounts import` print; None where there is none."""
    found = re.match(r"([0-9a-f]{16})\t", text)
    return found and found.group(1)
