"""Runs a command in a pseudo terminal: in-pty.py ROWS COLUMNS COMMAND...

What the command writes goes to standard output. Lines of JSON on standard input type keys, resize the terminal or send a signal. At the
end a line of JSON on standard error has the exit code, and whether the terminal's modes are what they were.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def obey(line, terminal, child):
    order = json.loads(line)
    if "keys" in order:
        os.write(terminal, order["keys"].encode())
    elif "rows" in order:
        resize(terminal, order["rows"], order["columns"])
        os.kill(child, signal.SIGWINCH)
    elif "signal" in order:
        os.kill(child, getattr(signal, order["signal"]))


def follow(terminal, slave, child, before):
    """The slave stays open here, so that its modes can be read once the child is gone."""
    orders = b""
    watched = [terminal, 0]
    status = None
    while True:
        ready, _, _ = select.select(watched, [], [], 0.02)
        if terminal in ready:
            os.write(1, os.read(terminal, 65536))
            continue
        if status is not None:
            break
        if 0 in ready:
            given = os.read(0, 65536)
            if not given:
                watched.remove(0)
                os.kill(child, signal.SIGKILL)
            *lines, orders = (orders + given).split(b"\n")
            for line in lines:
                obey(line, terminal, child)
        done, ended = os.waitpid(child, os.WNOHANG)
        if done == child:
            status = ended
    code = os.waitstatus_to_exitcode(status)
    report = {"code": code, "isRestored": termios.tcgetattr(slave) == before}
    os.write(2, (json.dumps(report) + "\n").encode())


def main():
    terminal, slave = pty.openpty()
    resize(terminal, int(sys.argv[1]), int(sys.argv[2]))
    before = termios.tcgetattr(slave)
    child = os.fork()
    if child == 0:
        os.close(terminal)
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        for stream in (0, 1, 2):
            os.dup2(slave, stream)
        os.closerange(3, 64)
        os.execvp(sys.argv[3], sys.argv[3:])
    follow(terminal, slave, child, before)


main()
