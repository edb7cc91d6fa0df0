"""Runs a program on a terminal of its own and types one answer at each question that ends with ": ".

usage: type-at-terminal.py ANSWER… -- PROGRAM [ARGUMENT…]

What the terminal shows goes to standard output; the exit status is the program's. Without an answer left the line is
ended as by Control-D.
"""

import os
import pty
import sys

place = sys.argv.index("--")
answers, command = sys.argv[1:place], sys.argv[place + 1 :]
child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)
shown = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    os.write(1, piece)
    if shown.endswith(b": "):
        os.write(terminal, answers.pop(0).encode() + b"\n" if answers else b"\x04")
        shown = b""
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
