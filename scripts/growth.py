"""Homes with many accounts, for scripts/check-growth and scripts/benchmark-growth: each signed in by the program itself."""

import concurrent.futures
import http.server
import json
import os
import re
import secrets
import shutil
import subprocess
import threading
import time
import urllib.parse

CALLS = "trace=open,openat,read,pread64,write,pwrite64,writev,fsync,fdatasync"
# A call stands on two lines where another thread or process has made one meanwhile; the second has its result.
LINE = re.compile(r"^(?:\[pid +\d+\] |\d+ +)?(?:<\.\.\. )?(\w+)(?:\(| resumed>)(.*)\) += (-?\d+)")


class Provider(http.server.BaseHTTPRequestHandler):
    """Gives tokens for every password."""
    protocol_version = "HTTP/1.1"
    # How long a token lives, and how long a reply takes, in seconds.
    lifetime, latency = 36_000, 0

    def do_POST(self):
        time.sleep(self.latency)
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
        reply = json.dumps({
            "access_token": secrets.token_urlsafe(900), "token_type": "Bearer", "expires_in": self.lifetime,
            "refresh_token": secrets.token_urlsafe(60), "scope": "".join(form.get("scope", ["read"]))}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *words):
        """Says nothing."""


class Home:
    """A home with accounts that are signed in."""

    def __init__(self, binary, folder, address, count, store="file"):
        self.binary, self.folder, self.address = binary, folder, address
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": folder, "XDG_RUNTIME_DIR": folder + "/run", "CREDMGR_STORE": store,
            "XDG_CONFIG_DIRS": folder + "/etc", "XDG_DATA_DIRS": folder + "/share"}
        if "DBUS_SESSION_BUS_ADDRESS" in os.environ:
            self.environment["DBUS_SESSION_BUS_ADDRESS"] = os.environ["DBUS_SESSION_BUS_ADDRESS"]
        os.makedirs(folder + "/run", mode=0o700)
        os.makedirs(folder + "/.config/credmgr/types")
        with open(folder + "/.config/credmgr/types/Work.json", "w", encoding="utf-8") as file:
            json.dump({
                "adapter": "oauth2", "token_endpoint": address + "/token", "client_id": "c", "flow": "password",
                "scope": ["read"], "api_base": "https://git.example/"}, file)
        with open(folder + "/password", "w", encoding="utf-8") as file:
            file.write("secret\n")
        os.chmod(folder + "/password", 0o600)
        began = time.perf_counter()
        self.login("user0")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(self.login, (f"user{number}" for number in range(1, count))))
        self.seconds = time.perf_counter() - began
        listed = json.loads(self.run("accounts", "--json"))
        assert len(listed) == count, f"{len(listed)} accounts instead of {count}"

    @property
    def has_keyring(self):
        """Whether the tokens are in the Secret Service."""
        return self.environment["CREDMGR_STORE"] == "secret-service"

    def words(self, *words):
        return [self.binary, *words]

    def run(self, *words, variables=None):
        return subprocess.run(
            self.words(*words), env={**self.environment, **(variables or {})}, check=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout.decode()

    def login(self, user):
        return self.run(
            "login", "--type", "Work", "--username", user, "--password-file", self.folder + "/password", *self.new(user))

    @staticmethod
    def new(user):
        return [] if user == "user0" else ["--new"]

    def timed(self, *words, runs=20, variables=None, stdin=os.devnull, before=None):
        """The median of the time that a command takes, in milliseconds."""
        return in_turn(runs, self.run_of(*words, variables=variables, stdin=stdin, before=before))[0]

    def run_of(self, *words, variables=None, stdin=os.devnull, before=None):
        """A command for in_turn()."""
        return run_of(self.words(*words), {**self.environment, **(variables or {})}, stdin, before)

    def counted(self, *words, variables=None):
        """What a command opens, reads, writes and syncs, with all that it starts."""
        trace = self.folder + "/trace"
        subprocess.run(
            ["strace", "-f", "-qq", "-e", "signal=none", "-e", CALLS, "-o", trace, *self.words(*words)],
            env={**self.environment, **(variables or {})}, check=True, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        figures = {"opened": 0, "read": 0, "written": 0, "synced": 0}
        with open(trace, encoding="utf-8", errors="replace") as file:
            for line in file:
                call = LINE.match(line.rstrip())
                if not call or int(call[3]) < 0:
                    continue
                name, result = call[1], int(call[3])
                if name.startswith("open"):
                    figures["opened"] += 1
                elif name in ("read", "pread64"):
                    figures["read"] += result
                elif "write" in name:
                    figures["written"] += result
                elif "sync" in name:
                    figures["synced"] += 1
        return figures


def installation(binary, folder):
    """The small program and the full one as they are installed; the full one where it was built without the other."""
    if not os.path.exists(binary + "-fast"):
        return binary
    for name in ["bin", "libexec/credmgr"]:
        os.makedirs(f"{folder}/{name}")
    shutil.copy(binary, folder + "/libexec/credmgr/credmgr")
    return shutil.copy(binary + "-fast", folder + "/bin/credmgr")


def in_turn(runs, *cases):
    """The medians of what some cases take, in milliseconds, each run once in its turn: what are compared have had the same machine,
    whatever else that did. A case is a function that gives the seconds it took."""
    times = [[case() for case in cases] for _ in range(runs)]
    return [sorted(times)[runs // 2] * 1e3 for times in zip(*times)]


def run_of(words, environment, stdin=os.devnull, before=None):
    """A program for in_turn(), with as little around it as there can be."""
    nothing = [(os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0)] + [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    program = shutil.which(words[0])

    def run():
        if before:
            before()
        began = time.perf_counter()
        child = os.posix_spawn(program, words, environment, file_actions=nothing)
        status = os.waitpid(child, 0)[1]
        taken = time.perf_counter() - began
        if status:
            raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), words)
        return taken

    return run


def provider():
    """Starts a provider; gives its address."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"
