"""A whole Secret Service with one fault at a time.

usage: faulty-secret-service.py --state FILE --fault NAME [--log FILE]

It keeps its items in FILE, as JSON, and writes it after every change, so that a test can see what is really stored.
NAME is `healthy` or one of the faults below. It prints `ready` when it owns the name.
"""

import argparse
import base64
import ctypes
import hashlib
import hmac
import json
import os
import secrets
import subprocess
import sys

import dbus
import dbus.lowlevel
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
COLLECTION = ROOT + "/collection/login"
OTHER_COLLECTION = ROOT + "/collection/other"
SESSION = ROOT + "/session/s1"
PROMPT = ROOT + "/prompt/p"
# RFC 2409, the second Oakley group.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF",
    16,
)
FAULTS = """
healthy no-default-keyring locked locked-dismissed locked-stays-locked locked-prompt-crash locked-prompt-silent
locked-prompt-unlocks item-locked silent-ReadAlias silent-OpenSession silent-SearchItems silent-GetSecret
silent-SetSecret silent-CreateItem silent-Delete silent-Unlock slow too-slow secret-empty secret-truncated
secret-garbage secret-foreign-key secret-wrong-session secret-bad-parameters key-refused key-refused-twice plain-only
key-malformed duplicates restart-once restart-always stray-replies elsewhere vanishing-item wrong-type hostile-error
removed-while-read crash-on-GetSecret crash-on-CreateItem crash-after-CreateItem create-dismissed create-dismissed-says-stored
create-prompt-crash create-prompt-silent create-lost create-error set-lost set-error delete-dismissed delete-lost
delete-error
""".split()

arguments = argparse.ArgumentParser()
arguments.add_argument("--state", required=True)
arguments.add_argument("--fault", required=True, choices=FAULTS)
arguments.add_argument("--log", default=os.devnull)
arguments.add_argument("--restarts", type=int, default=0, help="how often it has been started before")
options = arguments.parse_args()
fault = options.fault


class Refusal(Exception):
    """An error reply."""

    def __init__(self, name, text):
        super().__init__(text)
        self.name = name


class Silence(Exception):
    """No reply at all."""


# --- what is stored


def load():
    try:
        with open(options.state, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {"next": 1, "items": {}}


def save():
    with open(options.state + ".new", "w", encoding="utf-8") as file:
        json.dump(state, file)
    os.replace(options.state + ".new", options.state)


state = load()


# --- what goes over the bus encrypted: AES-128-CBC by OpenSSL's library

crypto = ctypes.CDLL("libcrypto.so.3")
crypto.EVP_CIPHER_CTX_new.restype = ctypes.c_void_p
crypto.EVP_aes_128_cbc.restype = ctypes.c_void_p
aes_key = None


def aes(key, vector, data, encrypts):
    context = ctypes.c_void_p(crypto.EVP_CIPHER_CTX_new())
    cipher = ctypes.c_void_p(crypto.EVP_aes_128_cbc())
    output = ctypes.create_string_buffer(len(data) + 32)
    first, last = ctypes.c_int(0), ctypes.c_int(0)
    try:
        if crypto.EVP_CipherInit_ex(context, cipher, None, key, vector, int(encrypts)) != 1:
            raise ValueError("no cipher")
        if crypto.EVP_CipherUpdate(context, output, ctypes.byref(first), data, len(data)) != 1:
            raise ValueError("not encrypted for this session")
        tail = ctypes.byref(output, first.value)
        if crypto.EVP_CipherFinal_ex(context, tail, ctypes.byref(last)) != 1:
            raise ValueError("not encrypted for this session")
        return output.raw[: first.value + last.value]
    finally:
        crypto.EVP_CIPHER_CTX_free(context)


def agree(their_key):
    """Diffie and Hellman, then HKDF-SHA256 without salt and info; gives our public key."""
    global aes_key
    private = secrets.randbits(1000) | 1
    shared = pow(int.from_bytes(their_key, "big"), private, PRIME).to_bytes(128, "big")
    extracted = hmac.new(bytes(32), shared, hashlib.sha256).digest()
    aes_key = hmac.new(extracted, b"\x01", hashlib.sha256).digest()[:16]
    return pow(2, private, PRIME).to_bytes(128, "big")


def sealed(secret):
    key, session, vector = aes_key, SESSION, secrets.token_bytes(16)
    if fault == "secret-foreign-key":
        key = secrets.token_bytes(16)
    if fault == "secret-wrong-session":
        session = ROOT + "/session/s2"
    data = aes(key, vector, secret, True)
    if fault == "secret-bad-parameters":
        vector = vector[:3]
    return dbus.Struct(
        (dbus.ObjectPath(session), dbus.ByteArray(vector), dbus.ByteArray(data), "application/octet-stream"),
        signature="oayays",
    )


# --- methods: each gives the signature and the values of its reply

unlocked = False
refusals = 0


def is_locked():
    return (fault.startswith("locked") or fault == "silent-Unlock") and not unlocked


def found(attributes):
    return [
        path
        for path, item in sorted(state["items"].items())
        if all(item["attributes"].get(name) == value for name, value in attributes.items())
    ]


def read_alias(path, name):
    return "o", [dbus.ObjectPath("/" if fault == "no-default-keyring" else COLLECTION)]


def open_session(path, algorithm, their_key):
    global refusals
    if algorithm == "plain":
        return "vo", [dbus.String("", variant_level=1), dbus.ObjectPath(SESSION)]
    if fault == "plain-only":
        raise Refusal("org.freedesktop.DBus.Error.NotSupported", "no such algorithm")
    if fault == "key-refused" or (fault == "key-refused-twice" and refusals < 2):
        refusals += 1
        raise Refusal("org.freedesktop.DBus.Error.Failed", "public key size is invalid")
    our_key = agree(bytes(their_key))
    if fault == "key-malformed":
        our_key = b""
    return "vo", [dbus.ByteArray(our_key, variant_level=1), dbus.ObjectPath(SESSION)]


def search_items(path, attributes):
    paths = found(attributes)
    if fault == "wrong-type":
        return "as", [paths]
    if fault == "elsewhere":
        paths = [path.replace(COLLECTION, OTHER_COLLECTION) for path in paths]
    if fault == "duplicates":
        # Same attributes, older and with nothing in it that could be used.
        paths = [copy for path in paths for copy in (path + "_old", path)]
    objects = dbus.Array([dbus.ObjectPath(path) for path in paths], "o")
    nothing = dbus.Array([], "o")
    return "aoao", [nothing, objects] if is_locked() or fault == "item-locked" else [objects, nothing]


def unlock(path, objects):
    if fault == "item-locked" or not is_locked():
        return "aoo", [dbus.Array(objects, "o"), dbus.ObjectPath("/")]
    return "aoo", [dbus.Array([], "o"), dbus.ObjectPath(PROMPT + "/unlock")]


def create_item(path, properties, secret, replace):
    if fault == "create-error":
        raise Refusal("org.freedesktop.DBus.Error.Failed", "no space left on device")
    item = f"{COLLECTION}/{state['next']}"
    if fault.startswith(("create-dismissed", "create-prompt")):
        said = item if fault == "create-dismissed-says-stored" else "/"
        return "oo", [dbus.ObjectPath(said), dbus.ObjectPath(PROMPT + "/dismiss")]
    if fault != "create-lost":
        state["next"] += 1
        attributes = properties["org.freedesktop.Secret.Item.Attributes"]
        state["items"][item] = {
            "attributes": {str(name): str(value) for name, value in attributes.items()},
            "label": str(properties["org.freedesktop.Secret.Item.Label"]),
            "secret": base64.b64encode(aes(aes_key, bytes(secret[1]), bytes(secret[2]), False)).decode(),
            "modified": state["next"],
        }
        save()
        if fault == "crash-after-CreateItem":
            os._exit(1)
    return "oo", [dbus.ObjectPath(item), dbus.ObjectPath("/")]


def item_of(path):
    if path.replace(OTHER_COLLECTION, COLLECTION).removesuffix("_old") not in state["items"]:
        raise Refusal("org.freedesktop.Secret.Error.NoSuchObject", "no such item")
    if is_locked() or fault == "item-locked":
        raise Refusal("org.freedesktop.Secret.Error.IsLocked", "locked")
    return state["items"][path.replace(OTHER_COLLECTION, COLLECTION).removesuffix("_old")]


def get_secret(path, session):
    item = item_of(path)
    if fault == "vanishing-item":
        raise Refusal("org.freedesktop.Secret.Error.NoSuchObject", "it was there a moment ago")
    if fault == "removed-while-read":
        del state["items"][path.replace(OTHER_COLLECTION, COLLECTION)]
        save()
        # As GLib answers for gnome-keyring.
        raise Refusal("org.freedesktop.DBus.Error.UnknownMethod", f"Object does not exist at path “{path}”")
    secret = base64.b64decode(item["secret"])
    if path.endswith("_old"):
        secret = b"old"
    if fault == "secret-empty":
        secret = b""
    if fault == "secret-truncated":
        secret = secret[: len(secret) // 2]
    if fault == "secret-garbage":
        secret = secrets.token_bytes(500)
    return "(oayays)", [sealed(secret)]


def get_secrets(path, items, session):
    given = {}
    for item in items:
        try:
            given[dbus.ObjectPath(item)] = get_secret(item, session)[1][0]
        except Refusal:
            pass
    return "a{o(oayays)}", [dbus.Dictionary(given, "o(oayays)")]


def set_secret(path, secret):
    item = item_of(path)
    if fault == "set-error":
        raise Refusal("org.freedesktop.DBus.Error.Failed", "no space left on device")
    if fault != "set-lost":
        item["secret"] = base64.b64encode(aes(aes_key, bytes(secret[1]), bytes(secret[2]), False)).decode()
        save()
    return "", []


def delete(path):
    item_of(path)
    if fault == "delete-error":
        raise Refusal("org.freedesktop.DBus.Error.Failed", "read-only file system")
    if fault == "delete-dismissed":
        return "o", [dbus.ObjectPath(PROMPT + "/dismiss")]
    if fault != "delete-lost":
        state["items"].pop(path.replace(OTHER_COLLECTION, COLLECTION).removesuffix("_old"), None)
        save()
    return "o", [dbus.ObjectPath("/")]


def prompt(path, window):
    if fault in ("locked-prompt-crash", "create-prompt-crash"):
        GLib.idle_add(os._exit, 1)
    elif fault not in ("locked-prompt-silent", "create-prompt-silent"):
        GLib.idle_add(complete, path, path.endswith("/dismiss") or fault == "locked-dismissed")
    return "", []


def complete(path, is_dismissed):
    global unlocked
    if fault == "locked-prompt-unlocks":
        unlocked = True
    signal = dbus.lowlevel.SignalMessage(path, "org.freedesktop.Secret.Prompt", "Completed")
    signal.append(is_dismissed, dbus.String("", variant_level=1), signature="bv")
    connection.send_message(signal)


def dismiss(path):
    return "", []


def get_property(path, interface, name):
    if path == COLLECTION:
        values = {"Locked": dbus.Boolean(is_locked()), "Label": dbus.String("Login")}
    else:
        item = item_of(path)
        values = {
            "Locked": dbus.Boolean(is_locked()),
            "Label": dbus.String(item["label"]),
            "Modified": dbus.UInt64(0 if path.endswith("_old") else item["modified"]),
            "Attributes": dbus.Dictionary(item["attributes"], "ss"),
        }
    if name not in values:
        raise Refusal("org.freedesktop.DBus.Error.UnknownProperty", "no such property")
    return "v", [values[name]]


def get_all(path, interface):
    return "a{sv}", [dbus.Dictionary({}, "sv")]


METHODS = {
    "ReadAlias": read_alias,
    "OpenSession": open_session,
    "SearchItems": search_items,
    "Unlock": unlock,
    "CreateItem": create_item,
    "GetSecret": get_secret,
    "GetSecrets": get_secrets,
    "SetSecret": set_secret,
    "Delete": delete,
    "Prompt": prompt,
    "Dismiss": dismiss,
    "Get": get_property,
    "GetAll": get_all,
}


# --- the bus


def handle(connection, message):
    if message.get_type() != 1 or message.get_destination() not in (NAME, connection.get_unique_name()):
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED
    delay = {"slow": 150, "too-slow": 2_000}.get(fault, 0)
    if delay:
        GLib.timeout_add(delay, answer, message)
    else:
        answer(message)
    return dbus.lowlevel.HANDLER_RESULT_HANDLED


def answer(message):
    member, path = message.get_member(), message.get_path()
    with open(options.log, "a", encoding="utf-8") as file:
        file.write(f"{member} {path}\n")
    if fault == "silent-" + member:
        return False
    if fault == "crash-on-" + member:
        os._exit(1)
    if (fault == "restart-once" and options.restarts == 0 and member == "SearchItems") or (
        fault == "restart-always" and member == "SearchItems"
    ):
        restart()
    try:
        if fault == "hostile-error" and member in ("SearchItems", "CreateItem"):
            raise Refusal("org.freedesktop.DBus.Error.Failed", "\x1b]0;owned\x07\x1b[31m\ncredmgr: note: all is well")
        method = METHODS.get(member)
        if method is None:
            raise Refusal("org.freedesktop.DBus.Error.UnknownMethod", "no such method")
        signature, values = method(path, *message.get_args_list(byte_arrays=True))
    except Refusal as refusal:
        connection.send_message(dbus.lowlevel.ErrorMessage(message, refusal.name, str(refusal)))
        return False
    reply = dbus.lowlevel.MethodReturnMessage(message)
    if signature:
        reply.append(*values, signature=signature)
    connection.send_message(reply)
    if fault == "stray-replies":
        stray(message)
    return False


def stray(message):
    """A second answer, which comes while the next one is waited for, and the end of a prompt that nobody began."""
    late = dbus.lowlevel.MethodReturnMessage(message)
    late.append(dbus.ObjectPath("/"), signature="o")
    connection.send_message(late)
    complete(PROMPT + "/none", False)


def restart():
    """Ends in the middle of a call; a successor is queued for the name already."""
    words = [word for word in sys.argv if not word.startswith("--restarts")]
    command = [sys.executable, *words, f"--restarts={options.restarts + 1}"]
    successor = subprocess.Popen(command, stdout=subprocess.PIPE)
    successor.stdout.readline()
    os._exit(0)


DBusGMainLoop(set_as_default=True)
connection = dbus.SessionBus()
connection.add_message_filter(handle)
connection.request_name(NAME)
print("ready", flush=True)
GLib.MainLoop().run()
