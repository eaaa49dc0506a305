#!/usr/bin/env python3
"""Mutation test: applies each bug of scripts/mutant_list.py to a copy of the source tree and says whether a test notices it.

  scripts/mutants.py [--jobs N] [--only TEXT] [--keep]   runs the mutants whose file or filter contains TEXT; all without it
  scripts/mutants.py --check                             only checks that each text occurs exactly once in its file

The copy is a git worktree of HEAD with a CPU-only build of the tests, so the working tree must be clean and is not touched. It is
removed at the end; --keep leaves it in build-mutants for the next run. A mutant takes about half a minute on two cores.
Exit code: 0 if every mutant was killed, 1 if one survived or did not compile, 2 if nothing ran."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COPY = os.path.join(ROOT, "build-mutants")
TEST_SECONDS = 300  # a mutant may loop for ever


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", newline="") as file:
        return file.read()


def write(root, path, text):
    with open(os.path.join(root, path), "w", encoding="utf-8", newline="") as file:
        file.write(text)


def findings(mutants, root):
    """What is wrong with the list, one line each."""
    for number, (path, old, new, tests) in enumerate(mutants, 1):
        name = f"mutant {number}, {path}: {old.strip()!r}"
        if not os.path.exists(os.path.join(root, path)):
            yield f"{name}: no such file"
        elif (count := read(root, path).count(old)) != 1:
            yield f"{name}: occurs {count} times, expected once"
        if old == new:
            yield f"{name}: changes nothing"
        if not binaries(tests):
            yield f"{name}: names no tests of a room"
        if mutants.index((path, old, new, tests)) != number - 1:
            yield f"{name}: is listed twice"


def is_clean(root):
    return not subprocess.run(["git", "status", "--porcelain"], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def binaries(tests):
    """The test binaries that hold the tests of a filter, e.g. of "OpsSpmm*:CoreTensor*": each suite begins with its room. Those of
    several ranks go on with Rank, e.g. "TrainRankBatches*"."""
    rooms = ["core", "ops", "layers", "models", "datasets", "train", "bench"]
    return sorted({"rank_tests" if re.match("[A-Z][a-z]+Rank(s|[A-Z])", pattern) else f"{room}_tests"
                   for pattern in tests.split(":") for room in rooms if pattern.lower().startswith(room)})


def prepare(jobs, targets):
    """The worktree of HEAD, configured and built. Returns the text of a failure, or None."""
    if os.path.exists(COPY):
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(["git", "checkout", "-q", "--force", "--detach", head], cwd=COPY, check=True)
    else:
        subprocess.run(["git", "worktree", "add", "-q", "--detach", COPY, "HEAD"], cwd=ROOT, check=True)
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    configure = ["cmake", "-S", COPY, "-B", os.path.join(COPY, "build"), "-G", "Ninja", "-DRODEO_CUDA=OFF", *launcher]
    done = subprocess.run(configure, capture_output=True, text=True)
    return (done.stdout + done.stderr) if done.returncode else build(jobs, targets)


def build(jobs, targets):
    """Returns the compiler's output if these test binaries cannot be built, or None."""
    launcher = ["rank_launch"] if "rank_tests" in targets else []
    done = subprocess.run(["ninja", "-C", os.path.join(COPY, "build"), f"-j{jobs}", *targets, *launcher], capture_output=True, text=True)
    return done.stdout if done.returncode else None


def fails(tests):
    """Whether a test fails, crashes or does not end."""
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    for binary in binaries(tests):
        try:
            command = [os.path.join(COPY, "build/tests", binary), f"--gtest_filter={tests}", "--gtest_fail_fast"]
            ranks = [os.path.join(COPY, "build/bin/rank_launch"), "2"] if binary == "rank_tests" else []
            done = subprocess.run([*ranks, *command],
                                  cwd=COPY, env=environment, capture_output=True, text=True, timeout=TEST_SECONDS)
        except subprocess.TimeoutExpired:
            return True
        if "[==========] 0 tests" in done.stdout:
            print(f"no test of {binary} has a name like {tests}")
            sys.exit(2)
        if done.returncode != 0:
            return True
    return False


def run_all(mutants, jobs):
    """Prints a line for each mutant. Returns the number that no test noticed."""
    if output := prepare(jobs, sorted({binary for mutant in mutants for binary in binaries(mutant[3])})):
        print(f"the tree cannot be built:\n{output}")
        sys.exit(2)
    for tests in sorted({mutant[3] for mutant in mutants}):
        if fails(tests):
            print(f"{tests} fails without any mutant")
            sys.exit(2)
    survivors = 0
    for path, old, new, tests in mutants:
        start = time.monotonic()
        original = read(COPY, path)
        write(COPY, path, original.replace(old, new))
        try:
            output = build(jobs, binaries(tests))
            verdict = "does not compile" if output else "killed" if fails(tests) else "survived"
        finally:
            write(COPY, path, original)
        survivors += verdict != "killed"
        print(f"{verdict:9} {time.monotonic() - start:5.0f} s  {path}: {old.strip()} -> {new.strip() or '(nothing)'}  [{tests}]", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} killed")
    return survivors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="check the list only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build (default: one for each core)")
    parser.add_argument("--only", default="", help="run the mutants whose file or filter contains this text")
    parser.add_argument("--keep", action="store_true", help="keep the copy in build-mutants")
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(ROOT, "scripts"))
    from mutant_list import MUTANTS
    wrong = list(findings(MUTANTS, ROOT))
    print("\n".join(wrong) or f"{len(MUTANTS)} mutants, each text occurs once")
    if wrong or options.check:
        sys.exit(1 if wrong else 0)
    chosen = [m for m in MUTANTS if options.only in m[0] or options.only in m[3]]
    if not chosen:
        print(f"no mutant has '{options.only}' in its file or filter")
        sys.exit(2)
    if not is_clean(ROOT):
        print("the working tree has changes: commit or stash them first, for the mutants are applied to a copy of HEAD")
        sys.exit(2)
    try:
        survivors = run_all(chosen, options.jobs)
    finally:
        if not options.keep:
            subprocess.run(["git", "worktree", "remove", "--force", COPY], cwd=ROOT, check=False, capture_output=True)
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
