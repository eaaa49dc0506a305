#!/usr/bin/env python3
"""Ctrl-C in a terminal reaches every rank once, and the launcher waits for them: ctrl_c_test.py RANK_LAUNCH"""
import os
import pty
import sys
import tempfile
import time

RANK = r"""
trap 'sleep 0.3; echo "rank $RODEO_RANK" >>"$0"; exit 130' INT
echo ready
while :; do sleep 0.05; done
"""


def main(launch):
    with tempfile.NamedTemporaryFile("r") as log:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(launch, [launch, "2", "bash", "-c", RANK, log.name])
        while b"ready" not in os.read(terminal, 1000):
            pass
        time.sleep(0.5)  # rank 1 prints nothing
        os.write(terminal, b"\x03")
        deadline = time.monotonic() + 20
        while (ended := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        code = os.waitstatus_to_exitcode(ended[1]) if ended[0] else "none"
        ranks = sorted(log.read().splitlines())
    print("exit code", code, ranks)
    return 0 if code == 130 and ranks == ["rank 0", "rank 1"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
