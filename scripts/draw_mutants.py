#!/usr/bin/env python3
"""Mutation test with bugs that nobody chose: draws slips of one token in the host code and says which tests of the CPU notice them.

  scripts/draw_mutants.py BUILD COUNT [--seed S] [--workers K] [--deadline SECONDS] [--out FILE] [--only TEXT] [--list]

BUILD is a build folder of this tree by Ninja without a CUDA backend, without RODEO_UNITY, with the targets room_tests, rank_tests and
rank_launch. It is only read: the file with a slip is compiled to a folder of its own, and the library and each test binary are linked
with it anew, by the commands that Ninja knows. First all tests run without a slip: those that fail are named and left out. Then each slip meets the
tests whose suite has the name of its file, those of its room, and those of the other rooms that can reach it; K of these runs go side
by side. A slip that has begun is decided before another one begins: where the time is up, those that were not run are like the others.
The same tree and seed give the same slips."""
import argparse
import collections
import heapq
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from mutant_sites import draw

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ["core", "ops", "layers", "models", "datasets", "train"]
TESTS = ["core", "rank", "layers", "models", "datasets", "train", "ops"]  # the other rooms in this order: short ones first
COMMANDS = ["bin/rodeo_h5_check", "bin/rodeo_data", "bin/train_gcn", "bin/rodeo_train"]
PROGRAMS = {"core": COMMANDS, "datasets": COMMANDS, "train": COMMANDS, "rank": ["bin/rank_launch"]}  # what the tests of a room run
REACHING = {"models": ["rank", "models", "datasets", "train"], "train": ["rank", "models", "datasets", "train"],
            "datasets": ["rank", "models", "datasets", "train", "ops"]}  # of these rooms; the tests of all rooms reach the others
TEST_SECONDS = 120  # a slip may loop for ever
MEMORY = 8 << 30    # or ask for everything
SHARDS = {"train": 8, "ops": 8, "datasets": 2, "models": 2}  # of a binary whose tests take long


def moved(command, paths):
    """A command with other paths; each must occur in it as a word."""
    for old, new in paths.items():
        command, count = re.subn(rf"(?<!\S){re.escape(old)}(?!\S)", lambda _, new=new: new, command)
        assert count, f"no {old} in {command}"
    return command


def failed_test(output, code):
    """The test that failed, or None where none did. The exit code None is that of a run that did not end in time."""
    failed = re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.M)
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.M)
    way = "no end" if code is None else f"exit code {code}"
    return None if code == 0 or "Running 0 tests" in output else failed[0] if failed else f"{begun[-1]} ({way})" if begun else f"({way})"


def limits():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))


def run(command, folder, seconds, **variables):
    """(exit code, or None where it does not end in time; output) of a command that has the folder for itself."""
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive",
                   "CCACHE_DISABLE": "1", "TMPDIR": f"{folder}/tmp", "HOME": folder, **variables}
    with open(f"{folder}/out", "wb") as out:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                 start_new_session=True, preexec_fn=limits)
        try:
            code = child.wait(max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            code = None
        try:
            os.killpg(child.pid, signal.SIGKILL)  # and what it started
        except ProcessLookupError:
            pass
        child.wait()
    with open(f"{folder}/out", encoding="utf-8", errors="replace") as out:
        return code, out.read()


class Draws:
    def __init__(self, options, folder):
        self.build, self.options, self.folder = os.path.abspath(options.build), options, folder
        self.end = time.monotonic() + options.deadline
        self.left_out = collections.defaultdict(list)  # of each binary: tests that fail without a slip
        self.lock = threading.Lock()
        with open(f"{self.build}/compile_commands.json", encoding="utf-8") as file:
            self.compile = {os.path.relpath(entry["file"], ROOT): entry["command"] for entry in json.load(file)}

    def sources(self):
        """{path: text} of the files that the library is made of. Not those whose tests need mpirun or GPUs."""
        paths = [path for path in sorted(self.compile) if path.split("/")[0] in ROOMS and self.options.only in path and
                 not re.search(r"_main\.cpp$|_stub\.cpp$|^(ops|core)/cuda/|^core/comm/(mpi|nccl)_", path)]
        return {path: open(f"{ROOT}/{path}", encoding="utf-8").read() for path in paths}

    def command(self, target, known={}):
        """The command by which the build makes a target."""
        if target not in known:
            known[target] = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", target], check=True,
                                           capture_output=True, text=True).stdout.strip().splitlines()[-1]
        return known[target]

    def make(self, command):
        return subprocess.run(command, shell=True, cwd=self.build, capture_output=True, check=False,
                              env={**os.environ, "CCACHE_DISABLE": "1"}).returncode == 0

    def compiles(self, slip, where):
        """Makes a library with the slip: from the objects of the build, and one of its own."""
        for folder in ("bin", "tests"):
            os.makedirs(f"{where}/{folder}", exist_ok=True)
        os.symlink("../bin/rodeo_h5_check", f"{where}/tests/rodeo_h5_check")
        with open(f"{where}/slip.cpp", "w", encoding="utf-8") as file:
            file.write(slip.text)
        compiler = self.compile[slip.path]
        out = re.search(r" -o (\S+)", compiler).group(1)
        library = moved(self.command("librodeo.a"), {out: f"{where}/slip.o", "librodeo.a": f"{where}/librodeo.a"})
        return self.make(moved(compiler, {out: f"{where}/slip.o -w", f"{ROOT}/{slip.path}": f"{where}/slip.cpp"})) and self.make(library)

    def links(self, target, where):
        return os.path.exists(f"{where}/{target}") or self.make(
            moved(self.command(target), {target: f"{where}/{target}", "librodeo.a": f"{where}/librodeo.a"}))

    def test(self, room, shard, where, folder, pattern, seconds):
        """The test of a room that fails, or None."""
        ranks = [f"{where}/bin/rank_launch", "2"] if room == "rank" else []
        command = [*ranks, f"{where}/tests/{room}_tests", "--gtest_fail_fast", f"--gtest_filter={pattern}-{':'.join(self.left_out[room])}"]
        shards = {"GTEST_TOTAL_SHARDS": str(SHARDS.get(room, 1)), "GTEST_SHARD_INDEX": str(shard)} if pattern == "*" else {}
        return failed_test(*reversed(run(command, folder, seconds, **shards)))

    def without_slips(self):
        """Finds the tests that fail in this build: each shard runs again without those that failed in it."""
        def shard(job):
            room, number = job
            while failed := self.test(room, number, self.build, f"{self.folder}/{room}.{number}", "*", TEST_SECONDS):
                name = failed.split()[0]
                if "." not in name or name in self.left_out[room]:
                    self.say(f"{room}_tests: {failed} without a slip, and no test could be left out for it")
                    os._exit(2)
                self.left_out[room].append(name)
                self.say(f"left out: {failed} fails without a slip")
        self.side_by_side([(room, number) for room in TESTS for number in range(SHARDS.get(room, 1))], shard)

    def side_by_side(self, jobs, work):
        """K threads take the smallest job; work(job) may return a job that follows."""
        heapq.heapify(jobs)
        running = [0]

        def worker():
            while True:
                with self.lock:
                    if not jobs and not running[0]:
                        return
                    job = heapq.heappop(jobs) if jobs else None
                    running[0] += job is not None
                if job is None:
                    time.sleep(0.2)
                    continue
                following = None
                try:
                    following = work(job)
                finally:
                    with self.lock:
                        running[0] -= 1
                        if following:
                            heapq.heappush(jobs, following)
        threads = [threading.Thread(target=worker) for _ in range(self.options.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stage(self, slips, job):
        """Stage 0 compiles a slip and runs the tests of its name; each other one runs a shard of the tests of a room. A job is (-stage, number)."""
        stage, number = -job[0], job[1]
        slip, where = slips[number], f"{self.folder}/{number}"
        own = slip.path.split("/")[0]
        order = [(own, 0), *((room, shard) for room in [own, *(room for room in REACHING.get(own, TESTS) if room != own)]
                             for shard in range(SHARDS.get(room, 1)))]
        room, shard = order[stage]
        if time.monotonic() > self.end:
            return self.decide(slip, "not decided" if stage else "not run", where)
        programs = [f"tests/{room}_tests", *PROGRAMS.get(room, [])]
        if (stage == 0 and not self.compiles(slip, where)) or not all(self.links(program, where) for program in programs):
            return self.decide(slip, "does not compile", where)
        pattern = "*" if stage else ":".join(self.named(slip.path))
        failed = self.test(room, shard, where, where, pattern, min(TEST_SECONDS, self.end - time.monotonic())) if pattern else None
        if failed:
            if "no end" in failed and time.monotonic() > self.end:
                return self.decide(slip, "not decided", where)
            alone = "no end" in failed or self.test(room, shard, where, where, failed.split()[0], TEST_SECONDS)
            return self.decide(slip, f"killed by {failed}{'' if alone else ', which passes alone'}", where)
        slip.passed = stage
        return (-stage - 1, number) if stage + 1 < len(order) else self.decide(slip, "survived", where)

    def named(self, path):
        """Patterns of the suites that have the name of a file."""
        tests = f"{self.build}/tests/{path.split('/')[0]}_tests"
        stem = re.sub("_", "", os.path.splitext(os.path.basename(path))[0])
        suites = subprocess.run([tests, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
        return [f"*{suite}.*" for suite in re.findall(r"^(?:\w+/)?([A-Za-z]\w*)(?:/\d+)?\.", suites, re.M) if stem in suite.lower()]

    def decide(self, slip, verdict, where):
        slip.verdict = verdict
        passed = f" (passed {slip.passed} stages)" if verdict == "not decided" else ""
        self.say(f"{verdict}{passed}: {slip.path}:{slip.line} [{slip.kind}] {slip.change}")
        shutil.rmtree(where, ignore_errors=True)

    def say(self, line):
        with self.lock:
            print(line, flush=True)
            if self.options.out:
                with open(self.options.out, "a", encoding="utf-8") as file:
                    file.write(f"{line}\n")

    def table(self, slips):
        kinds = ["killed", "survived", "not decided", "does not compile", "not run"]
        self.say(f"{'room':10}" + "".join(f"{kind:>18}" for kind in kinds))
        for room in [*ROOMS, ""]:
            counts = collections.Counter(re.sub("^killed by.*", "killed", slip.verdict) for slip in slips if slip.path.startswith(room))
            self.say(f"{room or 'all':10}" + "".join(f"{counts[kind]:18}" for kind in kinds))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="runs side by side (default: one for each core)")
    parser.add_argument("--deadline", type=float, default=1e9, help="seconds after which no test begins or goes on")
    parser.add_argument("--out", help="a file that the lines are appended to as well")
    parser.add_argument("--only", default="", help="draw from the files whose path contains this text")
    parser.add_argument("--list", action="store_true", help="print the slips and run nothing")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slips.") as folder:
        draws = Draws(options, folder)
        slips = draw(draws.sources(), options.count, options.seed)
        if options.list:
            print("\n".join(f"{slip.path}:{slip.line} [{slip.kind}] {slip.change}" for slip in slips))
            return
        draws.without_slips()
        draws.say(f"{time.monotonic() - draws.end + options.deadline:.0f} s: the tests passed without a slip; {len(slips)} slips are drawn")
        draws.side_by_side([(0, number) for number in range(len(slips))], lambda job: draws.stage(slips, job))
        draws.table(slips)


if __name__ == "__main__":
    main()
