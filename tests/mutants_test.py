#!/usr/bin/env python3
"""Checks scripts/mutant_list.py against the sources, and that scripts/mutants.py refuses what it must: usage mutants_test.py SOURCE_FOLDER"""
import os
import shutil
import subprocess
import sys
import tempfile

GOOD = 'MUTANTS = [("a.cpp", "x < 0", "x <= 0", "OpsA*"), ("a.cpp", "y < 0", "y > 0", "OpsA*")]\n'


def git(root, *arguments):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=root, check=True, capture_output=True)


def mutants(root, *arguments):
    done = subprocess.run([sys.executable, "-B", os.path.join(root, "scripts/mutants.py"), *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def main():
    source = os.path.abspath(sys.argv[1])
    code, output = mutants(source, "--check")
    failures = [output] if code else []
    if shutil.which("git") is None:
        print("skipped: no git")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "scripts"))
        shutil.copy(os.path.join(source, "scripts/mutants.py"), os.path.join(root, "scripts"))

        def expect(code, text, *arguments, mutant_list=GOOD, cpp="if (x < 0 || y < 0)\n"):
            for path, content in (("scripts/mutant_list.py", mutant_list), ("a.cpp", cpp)):
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(content)
            got = mutants(root, *arguments)
            if got[0] != code or text not in got[1]:
                failures.append(f"expected {code} and '{text}', got {got}")

        expect(0, "2 mutants, each text occurs once", "--check")
        expect(1, "mutant 1, a.cpp: 'x < 0': occurs 2 times, expected once", "--check", cpp="x < 0 || x < 0 || y < 0\n")
        expect(1, "mutant 2, a.cpp: 'y < 0': occurs 0 times, expected once", cpp="x < 0\n")
        expect(1, "a.cpp: 'x < 0': changes nothing", "--check", mutant_list=GOOD.replace("x <= 0", "x < 0"))
        expect(1, "b.cpp: 'x < 0': no such file", "--check", mutant_list=GOOD.replace("a.cpp", "b.cpp", 1))
        expect(1, "a.cpp: 'x < 0': names no tests of a room", "--check", mutant_list=GOOD.replace("OpsA*", "A*", 1))
        git(root, "init", "-q")
        git(root, "add", ".")
        git(root, "commit", "-qm", "all")
        expect(2, "no mutant has 'none' in its file or filter", "--only", "none")
        expect(2, "the working tree has changes: commit or stash them first", cpp="x < 0 || y < 0 || z\n")
    print("\n".join(failures) or "the list is correct; wrong lists and a changed tree are refused")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
