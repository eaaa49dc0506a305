#!/usr/bin/env python3
"""A training run on two ranks of this host: it opens no port, and SIGINT to its process group ends it with one
summary: run_test.py FOLDER_OF_COMMANDS"""
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time


def processes(group):
    """Processes of a process group."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == group:
            found.append(int(stat.split("/")[2]))
    return found


def sockets(pid):
    found = set()
    for file in glob.glob(f"/proc/{pid}/fd/*"):
        try:
            found |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(file)))
        except OSError:
            pass
    return found


def of_the_network(pids):
    """Sockets of TCP and UDP that the processes have, of any state."""
    all_of_host = set()
    for kind in "tcp", "tcp6", "udp", "udp6":
        if os.path.exists(f"/proc/net/{kind}"):
            with open(f"/proc/net/{kind}") as file:
                all_of_host |= {line.split()[9] for line in list(file)[1:]}
    return all_of_host & set().union(*map(sockets, pids))


def start(command, **more):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def watch(group):
    """Sockets of the network that the run has until its ranks have been connected for a second."""
    seen, connected = set(), None
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (connected is None or time.monotonic() < connected + 1):
        pids = processes(group)
        seen |= of_the_network(pids)
        if connected is None and sum(len(sockets(pid)) >= 2 for pid in pids) == 2:
            connected = time.monotonic()
        time.sleep(0.01)
    return seen, connected is not None


def joined_by_torchrun(train, local_ranks):
    """Two ranks whose host has an address of its own, as torchrun says it: of one host, or of two."""
    ranks = []
    for rank in range(2):
        environment = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": local_ranks, "LOCAL_RANK": "0",
                       "MASTER_ADDR": "0x7f.1", "MASTER_PORT": str(21000 + os.getpid() % 8000)}
        ranks.append(start(train, process_group=ranks[0].pid if ranks else 0, env=os.environ | environment))
    seen, connected = watch(ranks[0].pid)
    for rank in ranks:
        rank.kill()
        rank.communicate()
    return bool(seen), connected


def main(folder):
    failures = []
    with tempfile.TemporaryDirectory() as work:
        os.environ |= {"OMP_NUM_THREADS": "1", "RODEO_CACHE_DIR": work}
        data = os.path.join(work, "g.h5")
        subprocess.run([f"{folder}/rodeo_data", "generate", "--nodes", "200", "--edges", "800", "--features", "20",
                        "--classes", "3", "--split", "50/25/25", data], check=True, stdout=subprocess.DEVNULL)
        train = [f"{folder}/rodeo_train", "--model", "gcn", "--dataset", data, "--device", "cpu", "--epochs",
                 "100000000"]

        run = start(train + ["--ranks", "2"], process_group=0)
        seen, connected = watch(run.pid)
        if seen or not connected:
            failures.append(f"--ranks 2: connected: {connected}, sockets of the network: {seen}")
        # It reaches each rank twice: from the group, and from launch_ranks().
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
        summaries = len(re.findall(r"^stopped +by Ctrl-C after epoch \d+$", out, re.MULTILINE)), out.count("test accuracy")
        if run.returncode != 130 or summaries[0] != 1 or summaries[1] < 1 or "error" in err:
            failures.append(f"SIGINT to the group: exit code {run.returncode}\n{out}\n{err}")

        # The second shows that a port would have been seen.
        for local_ranks, port in ("2", False), ("1", True):
            if joined_by_torchrun(train, local_ranks) != (port, True):
                failures.append(f"torchrun with {local_ranks} ranks a host: a port: {not port}, or not connected")
    print("\n".join(failures) or "no port, one summary: ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
