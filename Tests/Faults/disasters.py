"""What happens to machines: full and read-only disks, power cuts, dying keyrings, huge files."""

import concurrent.futures
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from scenes import Scene
from world import World

REFRESH = ["token", "--type", "Tasks", "--force-refresh"]
TOKEN = ["token", "--type", "Tasks"]


def call(*words):
    subprocess.run(words, check=True, capture_output=True)


class Mount:
    """A file system of its own below a temporary folder."""

    def __init__(self, *words):
        self.path = tempfile.mkdtemp(prefix="credmgr-mount-")
        call("mount", *words, self.path)

    def stop(self):
        subprocess.run(["umount", "-l", self.path])
        os.rmdir(self.path)


def on_small_disk(program, store, name, spoil, mend, levels):
    """Runs commands on a spoiled disk, then checks that nothing is lost once it is mended."""
    mount = Mount("-t", "tmpfs", "-o", "size=1m,mode=700", "credmgr-faults")
    scene = None
    try:
        scene = Scene(program, store, "token", home=mount.path + "/home")
        for level in levels:
            for scene.name in ("token", "refresh", "login", "logout"):
                scene.world.run(["logout", "--all", "--yes"])
                if scene.name != "login":
                    scene.world.sign_in()
                spoil(mount, level)
                result = scene.run()
                mend(mount)
                scene.judge(result, f"{name} ({level} bytes left)")
    finally:
        if scene:
            scene.world.stop()
        mount.stop()
    return scene.tally, scene.problems


def full_disk(program, store):
    def spoil(mount, left):
        free = os.statvfs(mount.path)
        with open(mount.path + "/filler", "wb") as file:
            file.write(b"\0" * max(0, free.f_bavail * free.f_bsize - left))

    return on_small_disk(program, store, "a full disk", spoil, lambda mount: os.unlink(mount.path + "/filler"),
                         [0, 4096, 12288, 20480, 36864, 131072, 266240, 282624, 299008, 331776])


def read_only(program, store):
    return on_small_disk(program, store, "a home that cannot be written",
                         lambda mount, _: call("mount", "-o", "remount,ro", mount.path),
                         lambda mount: call("mount", "-o", "remount,rw", mount.path), [0])


def power_cuts(program, store, cuts):
    """Copies of a disk image while refreshes go on: each holds the last acknowledged token, or one after it."""
    folder = tempfile.mkdtemp(prefix="credmgr-power-")
    image, copy = folder + "/disk", folder + "/copy"
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    call("mkfs.ext4", "-q", "-O", "^metadata_csum_seed", image)
    mount, world, problems, done = Mount("-o", "loop", image), None, [], 0
    own = copied(program, folder + "/installed")  # Its processes are found by this path, and no others.
    try:
        world = World(own, store, home=mount.path + "/home")
        world.sign_in()
        os.sync()  # The definition of the type is this program's, which does not sync it.
        acknowledged, ends = [world.must(TOKEN).output], threading.Event()

        def refresh():
            while not ends.is_set():
                result = world.run(REFRESH)
                if result.status == 0:
                    acknowledged.append(result.output)
                else:
                    problems.append(f"a refresh without a fault: {result}")

        writer = threading.Thread(target=refresh)
        writer.start()
        for number in range(cuts):
            time.sleep(random.uniform(0, 0.25))
            stopped = stop_all(folder + "/installed/")
            last = len(acknowledged) - 1
            shutil.copy(image, copy)
            for process in stopped:
                signal_if_there(process, signal.SIGCONT)
            known = len(acknowledged)
            limit = time.monotonic() + 30
            while len(acknowledged) < known + 2 and time.monotonic() < limit:
                time.sleep(0.005)
            after = Mount("-o", "loop", copy)
            try:
                found = world.run(TOKEN, environment={"HOME": after.path + "/home"})
                if found.status != 0 or found.output not in acknowledged[last:]:
                    problems.append(f"cut {number}: the acknowledged token is lost: {found}")
                else:
                    done += 1
            finally:
                after.stop()
        ends.set()
        writer.join()
        if world.provider.reuses:
            problems.append("a refresh token was used twice")
    finally:
        if world:
            world.stop()
        mount.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return {"faults": cuts, "done": done, "refused": 0, "aborted": 0, "ended": 0}, problems


def copied(program, folder):
    """Copies a program into a folder, and gives the copy. An installation is copied as a whole: its small program starts
    the full one, which is found from the real path of the small one."""
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(program)))
    full = "libexec/credmgr/credmgr"
    if not os.path.exists(os.path.join(prefix, full)):
        os.mkdir(folder)
        return shutil.copy(program, folder + "/credmgr")
    for name in ["bin/credmgr", full]:
        os.makedirs(os.path.dirname(os.path.join(folder, name)))
        shutil.copy(os.path.join(prefix, name), os.path.join(folder, name))
    return folder + "/bin/credmgr"


def stop_all(folder):
    """Stops every process of the programs in a folder, and those they start meanwhile, except the provider."""
    stopped = set()
    while True:
        found = set()
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{name}/exe").startswith(folder):
                    with open(f"/proc/{name}/cmdline") as file:
                        if "\0demo\0" not in file.read():
                            found.add(int(name))
            except OSError:
                continue
        if found <= stopped:
            return stopped
        for process in found - stopped:
            signal_if_there(process, signal.SIGSTOP)
        stopped |= found


def signal_if_there(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def keyring_deaths(program, store, what, count):
    """The keyring, or the bus with it, is killed while a refresh is under way."""
    scene = Scene(program, "secret-service", "refresh")
    keyring = scene.world.keyring
    try:
        for number in range(count):
            moment = random.uniform(0, 0.15)
            victim = keyring.service if what == "keyring" else keyring.bus
            timer = threading.Timer(moment, victim.kill)
            timer.start()
            result = scene.run()
            timer.join()
            if what == "bus":
                keyring.start_bus()
            keyring.start_service()
            scene.judge(result, f"the {what} dies after {moment * 1000:.0f} ms")
    finally:
        scene.stop()
    return scene.tally, scene.problems


def records(world):
    """The folder of the accounts' records."""
    return world.home + "/.local/share/credmgr/groups/g/accounts/"


# How many of the 10,000 accounts have signed in. gnome-keyring writes all its items anew with each.
SIGNED_IN = {"file": 10_000, "secret-service": 200}


def many_accounts(program, store):
    """10,000 accounts: every command still ends in time."""
    scene = Scene(program, store, "token")
    world = scene.world
    try:
        folder = records(world)
        own = os.listdir(folder)[0]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda _: world.must(world.password_login + ["--duplicate"]), range(SIGNED_IN[store] - 1)))
        list_accounts(folder, own, 10_000 - SIGNED_IN[store])
        tally, problems = {"faults": 0, "done": 0, "refused": 0, "aborted": 0, "ended": 0}, []
        # The index knows nothing yet of those that are only listed: the first command that lists them makes it again.
        for words in [["accounts", "--json"], TOKEN, REFRESH, ["accounts"], ["which", "--type", "Tasks"], ["doctor"],
                      ["use", own, "--type", "Tasks"], ["label", own, "mine"], world.password_login,
                      ["logout", "--account", own]]:
            result = world.run(words)
            tally["faults"] += 1
            allowed = (0, 1) if words == ["doctor"] else (0,)
            if result.status in allowed:
                tally["done"] += 1
            else:
                problems.append(f"10,000 accounts: {result}")
        return tally, problems
    finally:
        scene.stop()


def list_accounts(folder, own, count):
    """Writes records of accounts that have no secrets."""
    with open(folder + own, "rb") as file:
        one = json.loads(file.readline())
    one.pop("token_set", None)
    for number in range(count):
        identity = f"{number:016x}"
        one["account"].update(
            id=identity, subject=f"subject-{number}", username=f"user{number}@example.com",
            label=f"label {number} " + "x" * 400, status="needs-login", status_reason="a test")
        one["account"].pop("chosen_at", None)
        with open(folder + identity, "w", opener=private) as file:
            file.write(json.dumps(one, separators=(",", ":")) + "\n")


def private(path, flags):
    return os.open(path, flags, 0o600)


def damaged_index(program, store):
    """The index of the names is cut, emptied and overwritten: it is made again from the records."""
    scene = Scene(program, store, "token")
    path = scene.world.home + "/.local/share/credmgr/groups/g/index"
    try:
        for number in range(40):
            with open(path, "rb") as file:
                whole = file.read()
            place = len(whole) * number // 40
            damaged = whole[:place] if number % 2 else whole[:place] + b"\0\xff{" + whole[place + 3:]
            with open(path, "wb") as file:
                file.write(damaged)
            scene.judge(scene.run(), f"an index damaged at byte {place}")
    finally:
        scene.stop()
    return scene.tally, scene.problems


def damaged_record(program, store):
    """A record is cut, emptied and overwritten: its account gives nothing, says so, and is as before once it is back."""
    scene = Scene(program, store, "token")
    folder = records(scene.world)
    path = folder + os.listdir(folder)[0]
    try:
        with open(path, "rb") as file:
            whole = file.read()
        for number in range(40):
            place = len(whole) * number // 40
            with open(path, "wb") as file:
                file.write(whole[:place] if number % 2 else whole[:place] + b"\0\xff{" + whole[place + 3:])
            result = scene.world.run(TOKEN)
            scene.tally["faults"] += 1
            scene.tally["refused"] += 1
            if result.status not in (5, 3) or result.output:
                scene.problem(f"a record damaged at byte {place}", result, "it is not refused")
            with open(path, "wb") as file:
                file.write(whole)
            scene.world.must(["token", "--type", "Tasks"])
    finally:
        scene.stop()
    return scene.tally, scene.problems


STORES = ["file", "secret-service"]
TASKS = {
    "disk": [(name, store, function, ()) for store in STORES
             for name, function in [("full", full_disk), ("read-only", read_only)]],
    "power": [("cuts", "file", power_cuts, (200,))],
    "keyring": [("keyring dies", "secret-service", keyring_deaths, ("keyring", 60)),
                ("bus dies", "secret-service", keyring_deaths, ("bus", 40))],
    "size": [(name, store, function, ()) for store in STORES
             for name, function in [("10,000 accounts", many_accounts), ("index", damaged_index), ("record", damaged_record)]],
}

# Those of --short.
SHORT_TASKS = {"power": [("cuts", "file", power_cuts, (10,))]}
