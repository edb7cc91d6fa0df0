"""Three nodes of etcd with TLS both ways, each in a network namespace of its own, and a router between them that cuts."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time

from world import finish

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
AUTHORITY = """
[ca]
default_ca = own
[own]
dir = {folder}
database = {folder}/database
rand_serial = yes
new_certs_dir = {folder}
default_md = sha256
policy = any
x509_extensions = {extensions}
copy_extensions = none
unique_subject = no
[any]
commonName = supplied
[authority]
basicConstraints = critical, CA:true
[member]
subjectAltName = {names}
[req]
distinguished_name = any_name
prompt = no
[any_name]
CN = {name}
"""


def call(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def namespace(process="self"):
    return os.readlink(f"/proc/{process}/ns/net")


class Place:
    """A network namespace. It lives as long as its holder, which ends with this program."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        while namespace(self.holder.pid) == namespace():
            if self.holder.poll() is not None:
                raise RuntimeError("no network namespace can be made: that is root's")
            time.sleep(0.005)
        self.name = namespace(self.holder.pid)
        self.prefix = ["nsenter", f"--net=/proc/{self.holder.pid}/ns/net"]
        self.run("ip", "link", "set", "lo", "up")

    def run(self, *words, **options):
        return call(*self.prefix, *words, **options)

    def listen(self, port):
        """A listening socket on the loopback of this place, to be used from outside of it."""
        found = []

        def make():
            # A thread may be in another namespace than the others; this one ends there.
            with open(f"/proc/{self.holder.pid}/ns/net") as file:
                if LIBC.setns(file.fileno(), CLONE_NEWNET) != 0:
                    raise OSError(ctypes.get_errno(), "setns")
            one = socket.socket()
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", port))
            one.listen(128)
            found.append(one)

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        return found[0]

    def processes(self):
        """Everything that runs here, but for the holder."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if int(name) != self.holder.pid and namespace(name) == self.name:
                    yield int(name)
            except OSError:
                continue

    def stop(self):
        for process in self.processes():
            for number in (signal.SIGKILL, signal.SIGCONT):
                signal_if_there(process, number)
        finish(self.holder)


def signal_if_there(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


class Network:
    """Places that reach each other through a router, which can drop what goes from one to another, each way."""

    def __init__(self):
        self.router = Place()
        self.router.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        self.places = []

    def add(self):
        """A further place: its number."""
        number, place = len(self.places), Place()
        self.places.append(place)
        self.router.run("ip", "link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns",
                        str(place.holder.pid))
        self.router.run("ip", "address", "add", f"10.86.{number}.1/30", "dev", f"v{number}")
        self.router.run("ip", "link", "set", f"v{number}", "up")
        place.run("ip", "address", "add", self.address(number) + "/30", "dev", "eth0")
        place.run("ip", "link", "set", "eth0", "up")
        place.run("ip", "route", "add", "default", "via", f"10.86.{number}.1")
        return number

    @staticmethod
    def address(number):
        return f"10.86.{number}.2"

    def plug(self, number, isPlugged):
        """Pulls a place's cable, or puts it back."""
        self.router.run("ip", "link", "set", f"v{number}", "up" if isPlugged else "down")

    def cut(self, one, other, bothWays=True):
        """Drops what goes from one place to another, in silence."""
        for a, b in [(one, other), (other, one)][:2 if bothWays else 1]:
            self.router.run("ip", "rule", "add", "from", self.address(a), "to", self.address(b), "blackhole")

    def mend(self):
        """Takes back every ``cut``."""
        for line in self.router.run("ip", "rule", "list").splitlines():
            if "blackhole" in line:
                _, *words = line.split()
                self.router.run("ip", "rule", "delete", *words)

    def stop(self):
        for place in [*self.places, self.router]:
            place.stop()


class Authority:
    """Makes certificates, of any time."""

    def __init__(self, folder, name):
        self.folder = f"{folder}/{name}"
        os.makedirs(self.folder, 0o700)
        with open(self.folder + "/database", "w"):
            pass
        self.file = self.make("ca", extensions="authority")[0]

    def make(self, name, addresses=(), extensions="member", days=(-60, 60)):
        """A certificate that is valid from so many days from now to so many: its file and its key's."""
        names = ",".join([f"IP:{address}" for address in addresses] or ["DNS:localhost"])
        paths = [f"{self.folder}/{name}.{ending}" for ending in ("pem", "key", "csr", "conf")]
        with open(paths[3], "w") as file:
            file.write(AUTHORITY.format(folder=self.folder, extensions=extensions, names=names, name=name))
        call("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config",
             paths[3], "-keyout", paths[1], "-out", paths[2])
        dates = [time.strftime("%y%m%d%H%M%SZ", time.gmtime(time.time() + day * 86_400)) for day in days]
        signer = ["-selfsign", "-keyfile", paths[1]] if name == "ca" else [
            "-cert", self.file, "-keyfile", self.folder + "/ca.key"]
        call("openssl", "ca", "-batch", "-notext", "-config", paths[3], *signer, "-in", paths[2], "-out", paths[0],
             "-startdate", dates[0], "-enddate", dates[1])
        return paths[0], paths[1]


class Nodes:
    """The nodes, their logs and folders. The last one's folder is a small file system of its own."""

    QUOTA = 160 << 20
    SMALL = 640 << 20

    def __init__(self, network, folder, count=3):
        self.network, self.folder, self.count = network, folder, count
        self.numbers = [network.add() for _ in range(count)]
        self.addresses = [network.address(number) for number in self.numbers]
        self.endpoints = [f"https://{address}:2379" for address in self.addresses]
        self.authority = Authority(folder, "authority")
        self.certificate = self.authority.make("node", self.addresses)
        self.root = self.authority.make("root")
        self.running = [None] * count
        self.token = "first"
        self.small = f"{folder}/n{count - 1}"
        os.makedirs(self.small)
        call("mount", "-t", "tmpfs", "-o", f"size={self.SMALL},mode=700", "credmgr-faults", self.small)

    def data(self, node):
        return f"{self.folder}/n{node}/{self.token}"

    def start(self, node):
        file, key = self.certificate
        peers = [f"https://{address}:2380" for address in self.addresses]
        log = open(f"{self.folder}/n{node}.log", "a")
        self.running[node] = subprocess.Popen(
            [*self.network.places[self.numbers[node]].prefix, "etcd", "--name", f"n{node}", "--data-dir", self.data(node),
             "--listen-client-urls", self.endpoints[node], "--advertise-client-urls", self.endpoints[node],
             "--listen-peer-urls", peers[node], "--initial-advertise-peer-urls", peers[node], "--initial-cluster",
             ",".join(f"n{i}={peer}" for i, peer in enumerate(peers)), "--initial-cluster-token", self.token,
             "--heartbeat-interval", "200", "--election-timeout", "2000", "--quota-backend-bytes", str(self.QUOTA),
             "--auto-compaction-mode", "revision", "--auto-compaction-retention", "500", "--snapshot-count", "5000",
             "--max-wals", "1", "--max-snapshots", "1", "--logger", "zap", "--log-level", "error", "--log-outputs",
             "stderr", "--client-cert-auth", "--peer-client-cert-auth",
             "--trusted-ca-file", self.authority.file, "--cert-file", file, "--key-file", key,
             "--peer-trusted-ca-file", self.authority.file, "--peer-cert-file", file, "--peer-key-file", key],
            stdout=log, stderr=log, env={"PATH": "/usr/bin:/bin"})
        log.close()

    def kill(self, node):
        finish(self.running[node])

    def pause(self, node, isPaused=True):
        signal_if_there(self.running[node].pid, signal.SIGSTOP if isPaused else signal.SIGCONT)

    def begin(self):
        """Starts all nodes with what their folders have, and waits until they answer."""
        for node in range(self.count):
            self.start(node)
        self.wait()

    def wait(self, seconds=90):
        """Waits until every node is healthy; one that has ended is started again."""
        limit = time.monotonic() + seconds
        while True:
            for node in range(self.count):
                if self.running[node].poll() is not None:
                    self.start(node)
            try:
                return self.control("endpoint", "health", "--command-timeout=2s")
            except RuntimeError as error:
                if time.monotonic() > limit:
                    raise RuntimeError(f"the nodes do not recover: {error}") from error
                time.sleep(0.2)

    @property
    def variables(self):
        """What etcdctl needs to be the cluster's administrator."""
        return {"PATH": "/usr/bin:/bin", "ETCDCTL_API": "3", "ETCDCTL_ENDPOINTS": ",".join(self.endpoints),
                "ETCDCTL_CACERT": self.authority.file, "ETCDCTL_CERT": self.root[0], "ETCDCTL_KEY": self.root[1]}

    def control(self, *words, endpoint=None, **options):
        """Runs etcdctl as the administrator, where every node can be reached; at one endpoint, or with all."""
        variables = {**self.variables, **({"ETCDCTL_ENDPOINTS": endpoint} if endpoint else {})}
        return self.network.router.run("etcdctl", *words, env=variables, **options)

    def leader(self):
        """The node that leads now; any where none is known."""
        for node, endpoint in enumerate(self.endpoints):
            try:
                answer = self.control("endpoint", "status", "-w", "json", "--command-timeout=2s", endpoint=endpoint)
            except RuntimeError:
                continue
            status = json.loads(answer)[0]["Status"]
            if status["leader"] == status["header"]["member_id"]:
                return node
        return 0

    def let_in(self, user, setup):
        """Runs what ``groups share --print-etcd-setup`` has printed for a user."""
        for line in setup.splitlines():
            try:
                self.network.router.run("sh", "-c", line, env=self.variables)
            except RuntimeError as error:
                if "already exists" not in str(error):
                    raise

    def demand_users(self):
        self.control("user", "add", "root", "--no-password")
        self.control("user", "grant-role", "root", "root")
        self.control("auth", "enable")

    def take_snapshot(self):
        path = tempfile.mktemp(dir=self.folder, prefix="snapshot-")
        self.control("snapshot", "save", path, endpoint=self.endpoints[0])
        return path

    def restore(self, snapshot, token):
        """Puts all nodes back to what a snapshot has, as an administrator does: a new cluster of the same data."""
        for node in range(self.count):
            self.kill(node)
        self.token = token
        cluster = ",".join(f"n{i}=https://{address}:2380" for i, address in enumerate(self.addresses))
        for node, address in enumerate(self.addresses):
            call("etcdctl", "snapshot", "restore", snapshot, "--name", f"n{node}", "--data-dir", self.data(node),
                 "--initial-cluster", cluster, "--initial-cluster-token", token, "--initial-advertise-peer-urls",
                 f"https://{address}:2380", env={"PATH": "/usr/bin:/bin", "ETCDCTL_API": "3"})
        self.begin()

    def files(self):
        """Every file that the nodes have: logs of writes, databases, snapshots."""
        for name in os.listdir(self.folder):
            if name.startswith("snapshot-"):
                yield f"{self.folder}/{name}"
        for node in range(self.count):
            for path, _, names in os.walk(f"{self.folder}/n{node}"):
                for name in names:
                    if name != "filler":
                        yield os.path.join(path, name)

    def stop(self):
        for process in self.running:
            finish(process)
        subprocess.run(["umount", "-l", self.small])
