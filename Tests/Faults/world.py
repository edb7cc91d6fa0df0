"""A home, a provider that revokes on reuse, a keyring where wanted, and the program between them."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROBOT = os.path.join(HERE, "..", "Servers", "oidc-login")
PASSWORD = "alice's password"
USER = "alice@example.com"
DOCUMENTED = {0, 1, 2, 3, 4, 5, 6, 7, 8, 130}
PATIENCE = 15  # seconds: whoever takes longer hangs


class Result:
    """How a run ended."""

    def __init__(self, words, status, output, errors, seconds):
        self.words, self.status, self.output, self.errors, self.seconds = words, status, output, errors, seconds

    def __str__(self):
        return f"{' '.join(self.words)}: exit {self.status} after {self.seconds:.1f} s: {self.errors.strip()}"


def finish(process):
    """Ends a process that was started here, and waits for its end."""
    if process and process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


class Provider:
    """The demo provider, with refresh tokens that end the sign-in when they are used again."""

    def __init__(self, program, folder):
        environment = {"PATH": "/usr/bin:/bin", "HOME": folder}
        self.process = subprocess.Popen([program, "demo", "--serve"], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        settings, self.settings = [], ""
        for line in self.process.stdout:
            settings.append(line)
            if "</plist>" in line:
                break
        self.settings = "".join(settings)
        self.base = re.search(r"http://localhost:\d+", self.settings).group(0)
        for line in self.process.stderr:
            if "users are" in line:
                break
        self.control(rotation="revokes_old")

    def control(self, **changes):
        data = json.dumps(changes).encode() if changes else None
        request = urllib.request.Request(self.base + "/demo/control", data=data,
                                         headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)

    @property
    def reuses(self):
        return self.control()["counters"]["reuses_detected"]

    def stop(self):
        finish(self.process)


class Keyring:
    """gnome-keyring on a bus of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": folder, "GSETTINGS_BACKEND": "memory",
                            "XDG_RUNTIME_DIR": folder + "/run", "XDG_DATA_HOME": folder + "/data",
                            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={folder}/run/bus"}
        for name in ("run", "data"):
            os.makedirs(f"{folder}/{name}", 0o700, exist_ok=True)
        with open(folder + "/bus.conf", "w") as file:
            file.write('<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" '
                       '"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd"><busconfig>'
                       f"<type>session</type><listen>unix:path={folder}/run/bus</listen><auth>EXTERNAL</auth>"
                       '<policy context="default"><allow send_destination="*" eavesdrop="true"/>'
                       '<allow eavesdrop="true"/><allow own="*"/></policy></busconfig>')
        self.bus = self.service = None
        self.start_bus()
        self.start_service()

    def start_bus(self):
        finish(self.bus)
        self.bus = subprocess.Popen(["dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork",
                                     "--print-address=1"], env=self.environment, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)
        self.bus.stdout.readline()

    def start_service(self):
        finish(self.service)
        self.service = subprocess.Popen(["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"],
                                        env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.service.stdin.write(b"keyring password")
        self.service.stdin.close()
        limit = time.monotonic() + 20
        while time.monotonic() < limit:
            answer = subprocess.run(
                ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.secrets",
                 "/org/freedesktop/secrets/aliases/default", "org.freedesktop.DBus.Properties.Get",
                 "string:org.freedesktop.Secret.Collection", "string:Locked"],
                env=self.environment, capture_output=True, text=True)
            if "boolean false" in answer.stdout:
                return
            time.sleep(0.05)
        raise RuntimeError("the keyring does not open")

    @property
    def items(self):
        """How many token sets the keyring holds."""
        found = subprocess.run(["secret-tool", "search", "--all", "kind", "token-set"], env=self.environment,
                               capture_output=True, text=True)
        return found.stdout.count("schema = org.credmgr.TokenSet")

    def stop(self):
        finish(self.service)
        finish(self.bus)


class World:
    """One user: home, types, store."""

    def __init__(self, program, store, needs_keyring=False, home=None):
        self.program, self.store = program, store
        self.folder = tempfile.mkdtemp(prefix="credmgr-faults-")
        self.home = home or self.folder + "/home"
        os.makedirs(self.home + "/.config/credmgr/types", 0o700)
        outside = self.folder + "/outside"
        os.makedirs(outside, 0o700)
        self.keyring = Keyring(self.folder + "/keyring") if needs_keyring or store == "secret-service" else None
        self.provider = Provider(program, outside)
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": self.home, "CREDMGR_STORE": store,
                            "CREDMGR_CACHE": "off", "CREDMGR_NO_INPUT": "1"}
        if self.keyring:
            for name in ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"):
                self.environment[name] = self.keyring.environment[name]
        self.password_file = outside + "/password"
        with open(os.open(self.password_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(PASSWORD + "\n")
        definition = {
            "adapter": "azure-b2c", "authority": self.provider.base, "tenant": "exampleb2c.onmicrosoft.com",
            "client_id": "580e250c-8f26-49d0-bee8-1c078add1609", "policies": {"sign-in": "B2C_1_ropc"},
            "default_policy": "sign-in", "flow": "password", "keychain_group": "g",
            "scope": ["offline_access", "https://exampleb2c.onmicrosoft.com/tasks/read"]}
        with open(self.home + "/.config/credmgr/types/Tasks.json", "w") as file:
            json.dump(definition, file)
        definition.update(policies={"sign-in": "b2c_1_sign_in"}, flow="code", keychain_group="pages",
                          redirect_uri="urn:ietf:wg:oauth:2.0:oob")
        with open(self.home + "/.config/credmgr/types/Pages.json", "w") as file:
            json.dump(definition, file)

    def run(self, words, prefix=(), environment=None):
        begun = time.monotonic()
        process = subprocess.Popen([*prefix, self.program, *words], env={**self.environment, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        try:
            output, errors = process.communicate(timeout=PATIENCE)
            status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            status = "hung"
        return Result(words, status, output, errors, time.monotonic() - begun)

    def must(self, words, *allowed, **more):
        result = self.run(words, **more)
        if result.status not in (allowed or (0,)):
            raise AssertionError(f"without a fault: {result}")
        return result

    def sign_in(self):
        self.must(self.password_login)

    @property
    def password_login(self):
        return ["login", "--type", "Tasks", "--username", USER, "--password-file", self.password_file]

    def redirect(self):
        """Begins a sign-in on the provider's pages; the URL that the browser ends at."""
        url = self.must(["login", "--type", "Pages", "--print-url"]).output.strip()
        robot = subprocess.run(["python3", ROBOT, url, "--user", USER], capture_output=True, text=True, timeout=60,
                               env={"PATH": os.environ["PATH"], "OIDC_LOGIN_PASSWORD": PASSWORD})
        if robot.returncode != 0:
            raise RuntimeError("the robot at the sign-in page: " + robot.stderr)
        return robot.stdout.strip()

    def accounts(self, type):
        return json.loads(self.must(["accounts", "--type", type, "--json"]).output)

    def stop(self):
        self.provider.stop()
        if self.keyring:
            self.keyring.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
