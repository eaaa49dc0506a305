#!/usr/bin/env python3
"""Trains in a pseudo-terminal, and checks what is drawn:  terminal_test.py BIN_DIR

The progress line fits the width, also where it changes, and keeps the time left. TERM=dumb gets no escape sequence.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios


def run(command, columns, environment, resize=None):
    """The output of a command in a terminal of that width; resize: the width after the first output."""
    child, terminal = pty.fork()
    if child == 0:
        for name in ("COLUMNS", "NO_COLOR"):
            os.environ.pop(name, None)
        os.environ.update(environment)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(command[0], command)
    output = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux: the child has closed its side
            data = b""
        if not data:
            break
        output += data
        if resize and b"epoch" in output:
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, resize, 0, 0))
            resize = None
    assert os.waitpid(child, 0)[1] == 0, output.decode()
    return output.decode()


def drawn(output):
    """The progress lines, without colours."""
    plain = re.sub(r"\x1b\[\d+m", "", output)
    return [line.split("\r\n")[0] for line in plain.split("\r\x1b[2K")[1:]]


def main(folder):
    with tempfile.TemporaryDirectory() as temporary:
        data = os.path.join(temporary, "tiny.h5")
        generate = ["generate", "--preset", "cora", "--nodes", "3000", "--edges", "20000", "--features", "50", data]
        subprocess.run([os.path.join(folder, "rodeo_data"), *generate], check=True, stdout=subprocess.DEVNULL)
        train = [os.path.join(folder, "train_gcn"), data, "--device", "cpu", "--epochs", "600"]
        for columns, environment in ((80, {}), (48, {}), (200, {}), (200, {"COLUMNS": "60"})):
            lines = drawn(run(train, columns, {"TERM": "xterm", **environment}))
            width = int(environment.get("COLUMNS", columns))
            assert len(lines) > 2, "no progress line"
            assert max(map(len, lines)) < width, (width, max(lines, key=len))
            assert all(line.endswith(" left") for line in lines[3:-1]), lines
        lines = drawn(run(train, 200, {"TERM": "xterm"}, resize=50))
        assert len(lines[0]) > 50 and len(lines[-2]) < 50, lines
        for term in ("dumb", ""):
            output = run(train, 80, {"TERM": term})
            assert "\x1b" not in output, f"TERM={term!r} gets escape sequences"
            assert "\nepoch  10/600  loss " in output.replace("\r", ""), output


main(sys.argv[1])
