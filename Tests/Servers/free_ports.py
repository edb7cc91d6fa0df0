"""free_ports.py COUNT: prints ports of 127.0.0.1 that nobody listens on, in a line.

They are none of those that the kernel gives out by itself: another connection might have such a one before its server.
Nor are they those of the tests' own freePort().
"""

import random
import socket
import sys


def free_ports(count):
    found = []
    for port in random.sample(range(30_000, 32_700), 2_000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    sys.exit("no free ports")


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1])))
