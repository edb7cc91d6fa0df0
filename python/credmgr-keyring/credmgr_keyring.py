"""A backend of Python's keyring: passwords of the servers that a rule or an account type of credmgr names.

For programs that import keyring, such as twine; pip and uv run its command, for which `credmgr setup pip` is enough.
"""

import json
import subprocess

from keyring import backend, credentials


class Keyring(backend.KeyringBackend):
    """Asks `credmgr keyring`. It keeps nothing: what it does not know, and what is to be kept, is for the next backend."""

    # Before the desktop's keyrings, which may hold an old password of the same server, and behind nothing but what asks
    # several backends in turn.
    priority = 9

    seconds = 120

    def get_credential(self, service, username):
        words = ["credmgr", "keyring", "--mode=creds", "--output=json", "get", "--", service]
        if username:
            words.append(username)
        try:
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=self.seconds, check=False)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return None
        if done.returncode != 0:
            return None
        found = json.loads(done.stdout)
        return credentials.SimpleCredential(found["username"], found["password"])

    def get_password(self, service, username):
        found = self.get_credential(service, username)
        return found.password if found else None

    def set_password(self, service, username, password):
        raise NotImplementedError("credmgr gives tokens of its accounts and keeps no other passwords")

    def delete_password(self, service, username):
        raise NotImplementedError("credmgr logout signs out")
