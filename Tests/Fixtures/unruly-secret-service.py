"""A Secret Service that misbehaves on purpose, in ways that real keyrings were seen to.

It holds no secrets: it takes anything and has one collection. Options say what it does wrong; `--log FILE` gets a
line for each call that matters. It prints `ready` when it owns the name.
"""

import argparse
import os
import secrets

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
COLLECTION = ROOT + "/collection/unruly"
PROMPT = ROOT + "/prompt/p1"
ITEM = COLLECTION + "/1"
SERVICE_INTERFACE = "org.freedesktop.Secret.Service"
COLLECTION_INTERFACE = "org.freedesktop.Secret.Collection"
PROMPT_INTERFACE = "org.freedesktop.Secret.Prompt"
# RFC 2409, the second Oakley group.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF",
    16,
)

options = argparse.ArgumentParser()
options.add_argument("--log", required=True)
options.add_argument("--refuse-sessions", type=int, default=0, help="so many calls of OpenSession fail")
options.add_argument("--hang-in", default="", help="the method that never answers")
options.add_argument("--plain", action="store_true", help="no encryption on the way")
options.add_argument("--locked", action="store_true", help="the collection is locked")
options.add_argument("--prompt-to-create", action="store_true", help="CreateItem asks first")
options.add_argument("--on-prompt", choices=["dismiss", "answer", "unlock", "wait", "die"], default="answer")
options = options.parse_args()


def log(line):
    with open(options.log, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def never(method):
    log(method)
    return options.hang_in == method


class Service(dbus.service.Object):
    refused = 0

    @dbus.service.method(SERVICE_INTERFACE, "s", "o", async_callbacks=("reply", "fail"))
    def ReadAlias(self, name, reply, fail):
        if not never("ReadAlias"):
            reply(dbus.ObjectPath(COLLECTION))

    @dbus.service.method(SERVICE_INTERFACE, "sv", "vo", async_callbacks=("reply", "fail"))
    def OpenSession(self, algorithm, key, reply, fail):
        if never("OpenSession"):
            return
        if options.plain and algorithm != "plain":
            fail(dbus.DBusException("no", name="org.freedesktop.DBus.Error.NotSupported"))
            return
        if self.refused < options.refuse_sessions:
            self.refused += 1
            fail(dbus.DBusException("public key size is invalid", name="org.freedesktop.DBus.Error.Failed"))
            return
        public = pow(2, secrets.randbits(1000) | 1, PRIME).to_bytes(128, "big")
        answer = dbus.String("", variant_level=1) if options.plain else dbus.ByteArray(public, variant_level=1)
        reply(answer, dbus.ObjectPath(ROOT + "/session/s1"))

    @dbus.service.method(SERVICE_INTERFACE, "a{ss}", "aoao")
    def SearchItems(self, attributes):
        log("SearchItems")
        return dbus.Array([], "o"), dbus.Array([], "o")

    @dbus.service.method(SERVICE_INTERFACE, "ao", "aoo")
    def Unlock(self, objects):
        log("Unlock")
        return dbus.Array([], "o"), dbus.ObjectPath(PROMPT)


class Collection(dbus.service.Object):
    @dbus.service.method("org.freedesktop.DBus.Properties", "ss", "v")
    def Get(self, interface, name):
        return {"Locked": dbus.Boolean(options.locked), "Label": "Unruly"}[name]

    @dbus.service.method(COLLECTION_INTERFACE, "a{sv}(oayays)b", "oo")
    def CreateItem(self, properties, secret, replace):
        log("CreateItem")
        if options.prompt_to_create:
            return dbus.ObjectPath("/"), dbus.ObjectPath(PROMPT)
        return dbus.ObjectPath(ITEM), dbus.ObjectPath("/")


class Prompt(dbus.service.Object):
    @dbus.service.method(PROMPT_INTERFACE, "s", "")
    def Prompt(self, window):
        log("Prompt")
        if options.on_prompt == "die":
            GLib.idle_add(os._exit, 0)
        elif options.on_prompt != "wait":
            options.locked = options.locked and options.on_prompt != "unlock"
            GLib.idle_add(self.Completed, options.on_prompt == "dismiss", dbus.String("", variant_level=1))

    @dbus.service.method(PROMPT_INTERFACE, "", "")
    def Dismiss(self):
        log("Dismiss")

    @dbus.service.signal(PROMPT_INTERFACE, "bv")
    def Completed(self, dismissed, result):
        pass


DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
owned = dbus.service.BusName(NAME, bus)
served = [Service(bus, ROOT), Collection(bus, COLLECTION), Prompt(bus, PROMPT)]
print("ready", flush=True)
GLib.MainLoop().run()
