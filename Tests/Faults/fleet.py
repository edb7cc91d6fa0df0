"""Three hosts that share a group through three nodes of etcd, and a witness of all that they send to the provider."""

import base64
import hashlib
import http.client
import http.server
import json
import os
import random
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "scripts"))

from growth import installation  # noqa: E402
from nodes import Network, Nodes, signal_if_there  # noqa: E402
from world import PASSWORD, USER, Provider, Result  # noqa: E402

GROUP, TYPE, WORKER = "fleet", "Tasks", "__refresh-worker"
PATIENCE = 15  # Seconds, as of every command.
MARGIN = 5  # For a machine that does other things, too.
HUNG = 120
SECRET = re.compile(r"eyJ[A-Za-z0-9_-]{20,}")
LABEL = "canary-"
# What every token, label and record of a sign-in has in it.
CANARIES = [PASSWORD, USER, LABEL, "eyJhbGciOi", "eyJraWQiOi", "refresh_token", "access_token"]
STUCK = "the result is not known yet"


def digest(token):
    return hashlib.sha256(token.encode()).hexdigest()[:16]


class Refresh:
    """A refresh token that was sent, and what became of it."""

    def __init__(self, host, token, family):
        self.host, self.token, self.family, self.sent = host, token, family, time.monotonic()
        # The status of the provider, 0 until there is one; the token that it gave; whether the host was told.
        self.status, self.next, self.answered, self.told = 0, None, None, False
        self.fault, self.deliberate = None, False


class Witness:
    """Stands between hosts and provider, passes everything on, and writes every refresh down. It can lose an answer."""

    def __init__(self, base):
        self.port = int(base.rsplit(":", 1)[1])
        self.base = f"http://127.0.0.1:{self.port}"
        self.guard = threading.Lock()
        self.refreshes, self.sent, self.families, self.last_family = [], {}, {}, 0
        self.deliberate, self.faults, self.signed_in = set(), [], None
        self.twice = []
        self.servers = []

    def serve(self, place, host):
        witness = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                witness.answer(self, host)

            def do_POST(self):
                witness.answer(self, host)

            def log_message(self, *words):
                """Says nothing."""

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                """A host that was killed is no error."""

        server = Server(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        server.socket.close()
        server.socket = place.listen(self.port)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.servers.append(server)

    def answer(self, request, host):
        body = request.rfile.read(int(request.headers.get("content-length") or 0))
        record, fault = self.begin(body, host), None
        if record:
            with self.guard:
                fault = record.fault = self.faults.pop() if self.faults else None
        request.close_connection = True
        if fault in (500, 503):
            status, headers, reply = fault, [], b'{"error":"temporarily_unavailable"}'
        else:
            if fault == "slow":
                time.sleep(3)
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            connection.request(request.command, request.path, body or None,
                               {name: value for name, value in request.headers.items() if name.lower() != "connection"})
            answer = connection.getresponse()
            status, headers, reply = answer.status, answer.getheaders(), answer.read()
            connection.close()
        self.note(record, body, status, reply)
        if fault == "lost":
            return
        request.send_response(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "server", "date"):
                request.send_header(name, value)
        request.send_header("content-length", str(len(reply)))
        request.send_header("connection", "close")
        request.end_headers()
        request.wfile.write(reply)
        request.wfile.flush()
        if record:
            record.told = True

    def begin(self, body, host):
        token = urllib.parse.parse_qs(body.decode("utf-8", "replace")).get("refresh_token", [None])[0]
        if not token:
            return None
        with self.guard:
            token = digest(token)
            record = Refresh(host, token, self.families.get(token))
            earlier = self.sent.setdefault(token, [])
            record.deliberate = record.family in self.deliberate
            # What the provider has certainly not acted upon may be sent again.
            if any(other.fault not in (500, 503) for other in earlier) and not record.deliberate:
                self.twice.append(record)
            earlier.append(record)
            self.refreshes.append(record)
            return record

    def note(self, record, body, status, reply):
        try:
            token = json.loads(reply).get("refresh_token") if status == 200 and reply.startswith(b"{") else None
        except ValueError:
            token = None
        with self.guard:
            if record:
                record.status, record.answered = status, time.monotonic()
            if token is None:
                return
            token = digest(token)
            if record:
                record.next, self.families[token] = token, record.family
            elif b"grant_type=password" in body:
                self.last_family += 1
                self.families[token] = self.signed_in = self.last_family

    def lose(self, fault):
        """Has the next refresh go wrong: `lost`, `slow`, 500 or 503."""
        with self.guard:
            self.faults.append(fault)

    def forgive(self):
        with self.guard:
            self.faults.clear()

    def accepts(self, token):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/api/tasks", headers={"Authorization": "Bearer " + token})
            return connection.getresponse().status == 200
        finally:
            connection.close()


class Host:
    """A machine: a place of its own, a home of its own, the program."""

    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.number = fleet.network.add()
        self.place = fleet.network.places[self.number]
        self.home = f"{fleet.folder}/{name}"
        os.makedirs(self.home + "/.config/credmgr/types", 0o700)
        os.makedirs(self.home + "/run", 0o700)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.home, "XDG_RUNTIME_DIR": self.home + "/run",
                            "CREDMGR_STORE": "file", "CREDMGR_NO_INPUT": "1"}
        definition = {
            "adapter": "azure-b2c", "authority": fleet.witness.base, "tenant": "exampleb2c.onmicrosoft.com",
            "client_id": "580e250c-8f26-49d0-bee8-1c078add1609", "policies": {"sign-in": "B2C_1_ropc"},
            "default_policy": "sign-in", "flow": "password", "keychain_group": GROUP,
            "scope": ["offline_access", "https://exampleb2c.onmicrosoft.com/tasks/read"]}
        for name, group in ((TYPE, GROUP), ("Own", "own")):
            with open(f"{self.home}/.config/credmgr/types/{name}.json", "w") as file:
                json.dump({**definition, "keychain_group": group}, file)
        self.certificate = fleet.nodes.authority.make(self.name)
        self.guard = threading.Lock()
        # Commands under way, those that were killed, when all stood still, and what is laid into the environment.
        self.running, self.killed, self.stops, self.disguise = {}, set(), [], {}
        self.goes = threading.Event()
        self.goes.set()
        fleet.witness.serve(self.place, self.name)

    def run(self, words, environment=None, input=None):
        begun = time.monotonic()
        process = subprocess.Popen(
            [*self.place.prefix, self.fleet.program, *words],
            env={**self.environment, **self.disguise, **(environment or {})}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        with self.guard:
            self.running[process.pid] = process
        try:
            output, errors = process.communicate(input or "", timeout=HUNG)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            status = "hung"
        ended = time.monotonic()
        with self.guard:
            del self.running[process.pid]
            if process.pid in self.killed and status == -signal.SIGKILL:
                status = "killed"
            stood = sum(max(0, min(ended, end) - max(begun, start)) for start, end in self.stops)
        result = Result(words, status, output, errors, ended - begun - stood)
        result.begun, result.ended, result.host = begun, ended, self.name
        return result

    def must(self, words, *allowed, **more):
        result = self.run(words, **more)
        if result.status not in (allowed or (0,)):
            raise AssertionError(f"{self.name}: {result}")
        return result

    def token(self, account, *more):
        return self.run(["token", "--type", TYPE, "--account", account, *more])

    def cluster(self, ca=None, certificate=None, endpoints=None, name=None):
        file, key = certificate or self.certificate
        return ["--etcd", ",".join(endpoints or self.fleet.nodes.endpoints), "--ca", ca or self.fleet.nodes.authority.file,
                "--cert", file, "--key", key, "--name", name or self.name]

    def sign_in(self, *more, type=TYPE):
        """Signs in by password: the account, and the provider's number of the sign-in."""
        with self.fleet.signing_in:
            output = self.must(["login", "--type", type, "--username", USER, "--password-file",
                                self.fleet.password_file, *more]).output
            return output.split()[0], self.fleet.witness.signed_in

    # Faults

    def workers(self):
        """The refreshes under way: process, and account by the lock that it holds."""
        for process in self.place.processes():
            account = self.account(process)
            if account:
                yield process, account

    @staticmethod
    def account(process):
        """Whose refresh a process is; `None` where it is none."""
        try:
            with open(f"/proc/{process}/cmdline") as file:
                if WORKER not in file.read().split("\0"):
                    return None
            lock = os.readlink(f"/proc/{process}/fd/3")
        except OSError:
            return None
        return os.path.basename(lock).removesuffix(".lock") if lock.endswith(".lock") else None

    def kill(self, process):
        """Kills a process, and writes down whose refresh it was."""
        with self.guard:
            self.killed.add(process)
        signal_if_there(process, signal.SIGSTOP)
        account, now = self.account(process), time.monotonic()
        signal_if_there(process, signal.SIGKILL)
        if account:
            self.fleet.deaths.append((account, self.name, now))

    def stand_still(self):
        """Stops everything that runs here, and starts nothing more."""
        self.goes.clear()
        self.stopped_at, self.stopped = time.monotonic(), set()
        while True:
            found = set(self.place.processes()) - self.stopped
            if not found:
                return
            for process in found:
                signal_if_there(process, signal.SIGSTOP)
            self.stopped |= found

    def go_on(self):
        with self.guard:
            self.stops.append((self.stopped_at, time.monotonic()))
        for process in self.stopped:
            signal_if_there(process, signal.SIGCONT)
        self.goes.set()


class Fleet:
    """Everything: network, nodes, hosts, provider, accounts that are shared."""

    def __init__(self, program, accounts, more=(), share=True):
        self.folder = tempfile.mkdtemp(prefix="credmgr-fleet-")
        self.network = Network()
        self.nodes = self.provider = None
        self.hosts = []
        self.deaths, self.signing_in = [], threading.Lock()
        try:
            self.begin(program, accounts, more, share)
        except BaseException:
            self.stop()
            raise

    def begin(self, program, accounts, more, share):
        outside = self.folder + "/outside"
        os.makedirs(outside, 0o700)
        os.makedirs(self.folder + "/installed")
        self.program = installation(program, self.folder + "/installed")
        self.nodes = Nodes(self.network, self.folder)
        self.provider = Provider(program, outside)
        self.witness = Witness(self.provider.base)
        self.password_file = outside + "/password"
        with open(os.open(self.password_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(PASSWORD + "\n")
        self.hosts = [Host(self, name) for name in ("alpha", "beta", "gamma")]
        self.nodes.begin()
        for host in self.hosts:
            setup = host.must(["groups", "share", GROUP, "--print-etcd-setup", "--name", host.name]).output
            self.nodes.let_in(host.name, setup)
        self.nodes.demand_users()
        first = self.hosts[0]
        # The sign-ins: the account, and the provider's number of the one that counts now.
        self.families = {}
        for number in range(accounts):
            account, self.families[account] = first.sign_in("--duplicate")
            self.label(first, account)
        for host in self.hosts:
            host.sign_in(type="Own")
        if share:
            first.must(["groups", "share", GROUP, *first.cluster(), *more])
            for host in self.hosts[1:]:
                self.let_in(host)

    def label(self, host, account):
        return host.run(["label", account, f"{LABEL}{random.getrandbits(48):012x}"])

    def let_in(self, host):
        shown = json.loads(host.must(["groups", "join", GROUP, "--json", *host.cluster()]).output)
        self.hosts[0].must(["groups", "admit", GROUP, host.name, "--fingerprint", shown["fingerprint"]])

    def leaks(self):
        """What lies on the nodes that is no ciphertext. The tokens of the provider all begin in one way."""
        found, size = [], 0
        for path in self.nodes.files():
            with open(path, "rb") as file:
                data = file.read().rstrip(b"\0")  # What a log has set aside.
            size += len(data)
            found += [f"{path} has {word}" for word in CANARIES if any(form in data for form in forms(word))]
        return found, size

    def stop(self):
        if self.nodes:
            self.nodes.stop()
        self.network.stop()
        if self.provider:
            self.provider.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def forms(word):
    """A text as it is, and as it stands in base64 at any place."""
    yield word.encode()
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + word.encode()).rstrip(b"=")
        yield encoded[4 if shift else 0:-1]
