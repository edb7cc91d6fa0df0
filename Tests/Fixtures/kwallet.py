"""KWallet without a screen: makes a wallet, opens it as a login does (PAM), and prints `ready` once its Secret Service
has a default collection. Runs until it is ended, and kwalletd5 with it.

usage: kwallet.py (on a session bus of its own, with a home of its own)
"""

import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time

FOLDER = tempfile.mkdtemp(prefix="kwallet-", dir=os.environ["XDG_RUNTIME_DIR"])
CONFIGURATION = """[Wallet]
Enabled=true
First Use=false
Default Wallet=kdewallet
Prompt on Open=false
Leave Open=true
[org.freedesktop.secrets]
apiEnabled=true
"""


def end_with_us():
    ctypes.CDLL("libc.so.6").prctl(1, signal.SIGKILL)


def start(number):
    """Starts kwalletd5 with the key that the login's password would give, which makes the wallet if there is none."""
    address = f"{FOLDER}/{number}"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(1)
    reader, writer = os.pipe()
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PAM_KWALLET5_LOGIN": address}
    process = subprocess.Popen(
        ["kwalletd5", "--pam-login", str(reader), str(listener.fileno())], env=environment,
        pass_fds=(reader, listener.fileno()), preexec_fn=end_with_us, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    os.write(writer, bytes(range(56)))
    os.close(writer)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(address)
        client.sendall("".join(f"{name}={value}\n" for name, value in environment.items()).encode())
    listener.close()
    return process


def wait(for_text, destination, path, method, *arguments):
    words = ["dbus-send", "--session", "--print-reply=literal", f"--dest={destination}", path, method, *arguments]
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        if for_text in subprocess.run(words, capture_output=True, text=True).stdout:
            return
        time.sleep(0.05)
    raise SystemExit(f"kwalletd5 does not come to '{for_text}'")


# Whoever starts this may hold signals back, and children inherit that.
signal.pthread_sigmask(signal.SIG_SETMASK, [])
with open(os.environ["XDG_CONFIG_HOME"] + "/kwalletrc", "w", encoding="utf-8") as file:
    file.write(CONFIGURATION)
# A wallet that is made while it runs does not become a collection.
first = start(1)
wait("true", "org.kde.kwalletd5", "/modules/kwalletd5", "org.kde.KWallet.isOpen", "string:kdewallet")
first.terminate()
first.wait()
second = start(2)
wait("collection", "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.Secret.Service.ReadAlias",
     "string:default")
print("ready", flush=True)
second.wait()
