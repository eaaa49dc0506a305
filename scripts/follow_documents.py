#!/usr/bin/env python3
"""Does what a new user does, in a clone of the last commit: `make demo`, the commands of README and guide, `make test`.

  scripts/follow_documents.py [--warm] [--folder FOLDER] [--skip-test]

Prints the minutes of each. The compiler cache is empty unless --warm is given; the home folder is an empty one, too. FOLDER must
not exist yet; without it a temporary folder is used, and removed. ccache finds what was compiled in a folder of the same name.
Exit code 1: a command failed.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, f"{ROOT}/tests")
from documents import Fault, Reader, blocks  # noqa: E402


def follow(reader, document):
    """The number of commands that failed."""
    failed = 0
    with open(f"{reader.folder}/{document}", encoding="utf-8") as file:
        text = file.read()
    for block in blocks(text):
        for line, done in reader.follow(block):
            failed += isinstance(done, Fault)
            print(f"-- {document}:{line}: {'FAILED: ' if isinstance(done, Fault) else ''}{done}", flush=True)
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--warm", action="store_true", help="use the compiler cache of this user")
    parser.add_argument("--folder", help="where to clone and build")
    parser.add_argument("--skip-test", action="store_true", help="without `make test`")
    options = parser.parse_args()
    if options.folder and os.path.exists(options.folder):
        sys.exit(f"follow_documents.py: {options.folder} exists: name a new folder")
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(options.folder or f"{temporary}/rodeo")
        environment = dict(os.environ, HOME=f"{temporary}/home")
        os.mkdir(environment["HOME"])
        if options.warm:
            environment["CCACHE_DIR"] = subprocess.run(["ccache", "--get-config", "cache_dir"], text=True, check=True,
                                                       stdout=subprocess.PIPE).stdout.strip()
        else:
            environment["CCACHE_DIR"] = f"{temporary}/ccache"
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        reader = Reader(folder, environment, output=None)

        def make(target):
            try:
                reader.run(f"make {target}")
            except Fault as fault:
                print(f"-- FAILED: {fault}", flush=True)
                return 1
            return 0

        steps = [("make demo", lambda: make("demo")), ("README.md", lambda: follow(reader, "README.md")),
                 ("docs/guide.md", lambda: follow(reader, "docs/guide.md"))]
        if not options.skip_test:
            steps.append(("make test", lambda: make("test")))
        results = []
        for name, step in steps:
            started = time.monotonic()
            failed = step()
            results.append((name, (time.monotonic() - started) / 60, failed))
            if failed and name == "make demo":
                break  # nothing else can work
    print(f"\n{os.cpu_count()} processors, compiler cache {'of this user' if options.warm else 'empty'}")
    for name, minutes, failed in results:
        print(f"{name:<16} {minutes:6.1f} min   {f'FAILED: {failed}' if failed else 'ok'}")
    sys.exit(1 if any(failed for _, _, failed in results) else 0)


if __name__ == "__main__":
    main()
