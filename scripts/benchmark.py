"""Measures credmgr and its peers; scripts/benchmark starts it with everything running."""

import argparse
import ctypes
import json
import os
import platform
import subprocess
import sys
import time
import urllib.parse
import urllib.request

TENANT = "exampleb2c.onmicrosoft.com"
CLIENT = "580e250c-8f26-49d0-bee8-1c078add1609"
SCOPE = f"https://{TENANT}/tasks/read"
KEY = "credmgr-benchmark"


def main():
    parser = argparse.ArgumentParser()
    for name in ["binary", "work", "provider", "peers"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--runs", type=int, default=300)
    Benchmark(parser.parse_args()).run()


class Benchmark:
    def __init__(self, options):
        self.options = options
        self.rows = []
        self.medians = {}

    def run(self):
        self.prepare()
        fast, slow = self.options.runs, max(10, self.options.runs // 10)
        load = os.getloadavg()[0]
        binary = self.options.binary
        uncached = {"CREDMGR_CACHE": "off"}

        # What is compared is measured side by side, so that noise of the machine meets all alike.
        self.measure("floor: C, one kernel key", [self.options.work + "/floor", KEY], fast)
        self.measure("credmgr token, cached", [binary, "token", "--type", "Keyring"], fast)
        if self.has_agent:
            self.measure("oidc-token, from its daemon", ["oidc-token", "peer"], fast)
        self.measure("secret-tool lookup", ["secret-tool", "lookup", "for", KEY], fast)
        self.measure("credmgr token, uncached, keyring", [binary, "token", "--type", "Keyring"], fast, uncached)
        self.measure("credmgr token, uncached, file", [binary, "token", "--type", "File"], fast, uncached)
        self.measure("credmgr token, cached, 1,000 accounts",
                     [binary, "token", "--type", "Many", "--account", self.one_of_many], fast)
        self.measure("credmgr accounts --json, 1,000 accounts", [binary, "accounts", "--json", "--group", "many"], slow)
        self.measure("python keyring.get_password", [self.options.peers, self.script("peer_keyring.py")], slow)
        self.measure("python msal + msal-extensions, cached", [self.options.peers, self.script("peer_msal.py")], slow)

        curl = ["curl", "-s", "-o", "/dev/null", "--data", "@" + self.script("refresh.form"), self.token_endpoint]
        store = ["sh", "-c", f"secret-tool store --label=b for {KEY}-store <{self.script('secret')}"]
        self.measure("curl, the same POST", curl, slow)
        self.measure("secret-tool store", store, slow)
        self.measure("credmgr token --force-refresh, keyring",
                     [binary, "token", "--type", "Keyring", "--force-refresh"], slow)
        self.measure("credmgr token --force-refresh, file",
                     [binary, "token", "--type", "File", "--force-refresh"], slow)

        print(f"{platform.machine()}, {os.cpu_count()} processors, Linux {platform.release()}, "
              f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after, {fast} and {slow} runs each\n")
        width = max(len(row[0]) for row in self.rows)
        print(f"{'what':<{width}}  {'median':>9}  {'fastest':>9}  {'slowest':>9}")
        for name, middle, fastest, slowest in self.rows:
            print(f"{name:<{width}}  {middle:>6.2f} ms  {fastest:>6.2f} ms  {slowest:>6.2f} ms")
        print()
        self.ratios()
        self.throughput()
        self.sizes()

    # The table of what must be reached.

    def ratios(self):
        m = self.medians
        lookup = m["secret-tool lookup"]
        rows = [("cached / secret-tool lookup", m["credmgr token, cached"] / lookup, 0.20)]
        if self.has_agent:
            rows.append(("cached / oidc-token", m["credmgr token, cached"] / m["oidc-token, from its daemon"], 1))
        rows += [
            ("uncached, keyring / secret-tool lookup", m["credmgr token, uncached, keyring"] / lookup, 1.3),
            ("cached, 1,000 accounts / cached",
             m["credmgr token, cached, 1,000 accounts"] / m["credmgr token, cached"], 2),
            ("refresh, keyring / (curl + secret-tool store)",
             m["credmgr token --force-refresh, keyring"] / (m["curl, the same POST"] + m["secret-tool store"]), 1.5),
            ("accounts --json, 1,000 accounts, in ms", m["credmgr accounts --json, 1,000 accounts"], 30),
        ]
        for name, value, limit in rows:
            print(f"{name:<48} {value:7.2f}  at most {limit:g}{'' if value <= limit else '   MISSED'}")
        print()

    def throughput(self):
        commands = [("credmgr token, cached", [self.options.binary, "token", "--type", "Keyring"])]
        if self.has_agent:
            commands.append(("oidc-token", ["oidc-token", "peer"]))
        commands.append(("secret-tool lookup", ["secret-tool", "lookup", "for", KEY]))
        count = 2_000 if self.options.runs >= 100 else 400
        for name, words in commands:
            numbers = "\n".join(map(str, range(count))).encode()
            start = time.perf_counter()
            subprocess.run(
                ["xargs", "-P", "100", "-I", "{}", *words], input=numbers, stdout=subprocess.DEVNULL, check=True)
            print(f"100 processes at once, {name + ':':<24} {count / (time.perf_counter() - start):7.0f} calls per second")
        print()

    def sizes(self):
        peak = subprocess.run([self.script("peak"), self.options.binary, "token", "--type", "Keyring"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True).stderr
        print(f"peak memory of a cached call: {int(peak) / 1024:.1f} MB, at most 20")
        programs = [self.options.binary, os.path.dirname(self.options.binary) + "/../libexec/credmgr/credmgr"]
        print(f"both programs: {sum(map(os.path.getsize, programs)) / 1e6:.1f} MB, at most 20")

    def measure(self, name, words, runs, variables=None):
        result = self.options.work + "/result.json"
        subprocess.run(
            ["hyperfine", "-N", "--warmup", "5", "--runs", str(runs), "--export-json", result,
             " ".join(words) if words[0] != "sh" else f"sh -c '{words[2]}'"],
            env={**os.environ, **(variables or {})}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        with open(result, encoding="utf-8") as file:
            figures = json.load(file)["results"][0]
        self.medians[name] = figures["median"] * 1e3
        self.rows.append((name, figures["median"] * 1e3, figures["min"] * 1e3, figures["max"] * 1e3))

    # Accounts, keys and scripts.

    def prepare(self):
        home = os.environ["HOME"]
        types = home + "/.config/credmgr/types"
        os.makedirs(types, mode=0o700, exist_ok=True)
        for name in ["Keyring", "File", "Many"]:
            with open(f"{types}/{name}.json", "w", encoding="utf-8") as file:
                json.dump({
                    "adapter": "azure-b2c", "authority": self.options.provider, "tenant": TENANT, "client_id": CLIENT,
                    "policies": {"signin": "B2C_1_ropc"}, "default_policy": "signin", "flow": "password",
                    "scope": [SCOPE, "offline_access"], "keychain_group": name.lower()}, file)
        self.write("password", "alice's password\n")
        for name, store in [("Keyring", "secret-service"), ("File", "file"), ("Many", "file")]:
            account = self.credmgr("login", "--type", name, "--store", store, "--username", "alice@example.com",
                                   "--password-file", self.script("password")).split("\t")[0]
            if name == "Many":
                self.one_of_many = account
                self.multiply(home + "/.local/share/credmgr/groups/many/accounts", account)
                self.credmgr("token", "--type", name, "--account", account)
            else:
                self.credmgr("token", "--type", name)
        token = self.credmgr("token", "--type", "Keyring").strip()
        subprocess.run(["secret-tool", "store", "--label=b", "for", KEY], input=token.encode(), check=True)
        secret = token.encode()
        ctypes.CDLL(None).syscall(248 if platform.machine() == "x86_64" else 217, b"user", KEY.encode(), secret,
                                  len(secret), -4)
        self.has_agent = subprocess.run(
            ["oidc-token", "peer"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

        self.token_endpoint = f"{self.options.provider}/{TENANT}/b2c_1_ropc/oauth2/v2.0/token"
        form = {"client_id": CLIENT, "scope": f"openid offline_access {SCOPE}"}
        reply = json.load(urllib.request.urlopen(self.token_endpoint, data=urllib.parse.urlencode(
            {**form, "grant_type": "password", "username": "alice@example.com",
             "password": "alice's password"}).encode()))
        self.write("refresh.form", urllib.parse.urlencode(
            {**form, "grant_type": "refresh_token", "refresh_token": reply["refresh_token"]}))
        # What the store is given at a refresh is of this size.
        self.write("secret", json.dumps(reply) * 2)

        self.write("peer_keyring.py", "import keyring\nassert keyring.get_password('credmgr-benchmark', 'x')\n")
        self.write("peer_msal.py", f"""
from msal_extensions import FilePersistence, PersistedTokenCache
import msal
cache = PersistedTokenCache(FilePersistence({self.script('msal.json')!r}))
assert list(cache.search(msal.TokenCache.CredentialType.ACCESS_TOKEN, target=["read"]))
""")
        self.write("peer_fill.py", f"""
import keyring, sys
from msal_extensions import FilePersistence, PersistedTokenCache
keyring.set_password('credmgr-benchmark', 'x', sys.argv[1])
PersistedTokenCache(FilePersistence({self.script('msal.json')!r})).add({{
    "client_id": "c", "scope": ["read"], "token_endpoint": "https://login.example.com/t/token",
    "response": {{"access_token": sys.argv[1], "expires_in": 3600, "token_type": "Bearer"}}}})
""")
        subprocess.run([self.options.peers, self.script("peer_fill.py"), token], check=True)

    def multiply(self, folder, account):
        """Makes a thousand accounts of one; only one of them has secrets, which is all that listing needs."""
        with open(f"{folder}/{account}", "rb") as file:
            record = json.loads(file.readline())
        record.pop("token_set")
        record["account"].pop("chosen_at", None)
        for number in range(999):
            identity = f"{number:016x}"
            record["account"].update(
                id=identity, subject=f"subject-{number}", username=f"u{number}@example.com")
            with open(f"{folder}/{identity}", "w", opener=lambda path, flags: os.open(path, flags, 0o600),
                      encoding="utf-8") as file:
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
        # Lists them all: from then on the index has them.
        self.credmgr("accounts", "--group", "many", "--json")

    def credmgr(self, *words):
        return subprocess.run([self.options.binary, *words], check=True, stdout=subprocess.PIPE, text=True).stdout

    def script(self, name):
        return f"{self.options.work}/{name}"

    def write(self, name, text):
        with open(self.script(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.script(name), 0o600)


if __name__ == "__main__":
    sys.exit(main())
