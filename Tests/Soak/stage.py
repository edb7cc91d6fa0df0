"""Where the soak runs: a home, a provider that ends a sign-in whose refresh token is used twice, a keyring, and the program."""

import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

from disasters import copied, signal_if_there
from world import Keyring, finish

GROUPS = ["north", "south", "moves"]
TENANT = "exampleb2c.onmicrosoft.com"
CLIENT = "580e250c-8f26-49d0-bee8-1c078add1609"
USERS = ["alice", "bob"]
# Seconds after which a call hangs. A lock is waited for 30 s, and whoever holds it may be stopped for as long as the soak says.
PATIENCE = 150


class Ending:
    """How a call ended. The status is None where the soak killed it."""

    def __init__(self, words, status, output, errors):
        self.words, self.status, self.output, self.errors = words, status, output, errors

    def __str__(self):
        return f"credmgr {' '.join(self.words)} ended with {self.status}: {self.errors.strip()}"


class Stage:
    def __init__(self, binary, stores):
        self.folder = tempfile.mkdtemp(prefix="credmgr-soak-")
        self.begun, self.log_guard = time.monotonic(), threading.Lock()
        self.log_file = open(self.folder + "/calls.log", "w")
        # Its processes are found by this path, and no others.
        self.installed = self.folder + "/installed"
        self.binary = copied(binary, self.installed)
        self.home = self.folder + "/home"
        self.stores = stores
        self.passphrase = self.secret("passphrase", "a long passphrase")
        self.environment = {"HOME": self.home, "PATH": "/usr/bin:/bin", "CREDMGR_NO_INPUT": "1",
                            "CREDMGR_STORE": "file", "CREDMGR_PASSPHRASE_FILE": self.passphrase}
        self.keyring = Keyring(self.folder + "/keyring") if "secret-service" in stores else None
        self.keyring_guard = threading.Lock()
        if self.keyring:
            for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                self.environment[name] = self.keyring.environment[name]
        self.may_trace = subprocess.run(["strace", "-o", "/dev/null", "/bin/true"], capture_output=True).returncode == 0 \
            if shutil.which("strace") else False
        self.passwords = {user: self.secret(user, f"{user}'s password" if user == "alice" else "bob's password")
                          for user in USERS}
        self.demo = subprocess.Popen([self.binary, "demo", "--serve"], env=self.environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.provider = next(word for word in self.demo.stderr.readline().split() if word.startswith("http"))
        self.control(rotation="revokes_old", access_token_lifetime=100)
        types = pathlib.Path(self.home, ".config/credmgr/types")
        types.mkdir(parents=True, mode=0o700)
        for group in GROUPS:
            for scope in ["read", "write"]:
                (types / f"{group}-{scope}.json").write_text(json.dumps({
                    "adapter": "azure-b2c", "authority": self.provider, "tenant": TENANT, "client_id": CLIENT,
                    "policies": {"signin": "B2C_1_ropc"}, "default_policy": "signin", "flow": "password",
                    "scope": [f"https://{TENANT}/tasks/{scope}", "offline_access"], "keychain_group": group}))

    def secret(self, name, text):
        path = f"{self.folder}/{name}"
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text + "\n")
        return path

    # Calls

    def call(self, *words, kill_after=None, prefix=(), store=None):
        begun = time.monotonic()
        ending = self.ending(words, kill_after, prefix, store)
        self.log(f"{begun - self.begun:.3f} to {time.monotonic() - self.begun:.3f}: {' '.join([*prefix[-1:], *words])} "
                 f"[{store or ''}] ended with {ending.status}: {ending.errors.strip()[:300]}")
        return ending

    def log(self, text):
        """Keeps what has happened, for whoever looks into a fault."""
        with self.log_guard:
            self.log_file.write(text + "\n")
            self.log_file.flush()

    def ending(self, words, kill_after, prefix, store):
        environment = {**self.environment, **({"CREDMGR_STORE": store} if store else {})}
        process = subprocess.Popen([*prefix, self.binary, *words], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                   start_new_session=True)
        try:
            output, errors = process.communicate(timeout=PATIENCE if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            # Its workers have sessions of their own, and go on.
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            return Ending(words, "no end" if kill_after is None else None, output, errors)
        return Ending(words, process.returncode, output, errors)

    def control(self, **changes):
        request = urllib.request.Request(self.provider + "/demo/control", method="POST" if changes else "GET",
                                         data=json.dumps(changes).encode() if changes else None,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)

    @property
    def counters(self):
        return self.control()["counters"]

    def listed(self):
        """The accounts that credmgr lists, by their ids."""
        for _ in range(5):
            ending = self.call("accounts", "--json")
            if ending.status == 0:
                return {entry["id"]: entry for entry in json.loads(ending.output)}
        raise RuntimeError(str(ending))

    # Processes

    def processes(self):
        """The running processes of the program, but for the provider: their ids and whether each is a worker."""
        found = {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{name}/exe").startswith(self.installed):
                    with open(f"/proc/{name}/cmdline") as file:
                        words = file.read().split("\0")
                    if words[1:2] != ["demo"] and int(name) != self.demo.pid:
                        found[int(name)] = words
            except OSError:
                continue
        return found

    def children(self, process):
        """The processes that a process has started."""
        try:
            with open(f"/proc/{process}/task/{process}/children") as file:
                return [int(word) for word in file.read().split()]
        except OSError:
            return []

    def stop_some(self, random, share, seconds):
        """Stops some of what runs for a while, as `docker pause` and a suspended machine do."""
        stopped = [process for process in self.processes() if random.random() < share]
        for process in stopped:
            signal_if_there(process, signal.SIGSTOP)
        self.log(f"{time.monotonic() - self.begun:.3f}: stopped {stopped} for {seconds} s")
        try:
            time.sleep(seconds)
        finally:
            for process in stopped:
                signal_if_there(process, signal.SIGCONT)
        return len(stopped)

    def wait_for_workers(self, seconds):
        """Whether everything that was started has ended."""
        limit = time.monotonic() + seconds
        while self.processes():
            if time.monotonic() > limit:
                return False
            time.sleep(0.05)
        return True

    def lose_keyring(self):
        """Kills the keyring, and starts it again."""
        if not self.keyring or not self.keyring_guard.acquire(blocking=False):
            return False
        try:
            self.keyring.start_service()
            return True
        finally:
            self.keyring_guard.release()

    def revive_keyring(self):
        """Starts the keyring where it has ended by itself, which no command can help."""
        if self.keyring and (status := self.keyring.service.poll()) is not None:
            self.log(f"the keyring has ended by itself with {status}")
            self.keyring.start_service()
            return True
        return False

    # What is left on the disk

    def held_locks(self):
        held = []
        for lock in pathlib.Path(self.home).rglob("locks/*.lock"):
            with open(lock, "rb+") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    held.append(lock.name)
        return held

    def files(self, pattern):
        return [str(path.relative_to(self.home)) for path in pathlib.Path(self.home).rglob(pattern)]

    def temporary_files(self):
        return self.files(".*.tmp") + self.files("*.reserve")

    def stop(self, keeps):
        self.log_file.close()
        self.demo.stdin.close()
        try:
            self.demo.wait(timeout=30)
        finally:
            finish(self.demo)
            if self.keyring:
                self.keyring.stop()
        if not keeps:
            shutil.rmtree(self.folder, ignore_errors=True)
