#!/usr/bin/env python3
"""Compiles and runs the code blocks of a document: docs_test.py ROOT DOCUMENT.md PREFIX

CONTRIBUTING.md describes the markup. Everything happens in an empty folder, against the library installed in PREFIX.
"""
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"(?:^<!-- test: ([^\n]*?) -->\n+)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = ("cpp", "cmake", "sh")


class Fault(Exception):
    pass


def run(command, folder, prefix):
    environment = dict(os.environ, CMAKE_PREFIX_PATH=prefix, RODEO_CACHE_DIR="off")
    environment["PATH"] = f"{prefix}/bin:" + environment["PATH"]
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise Fault(f"{command.strip()}\nexited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def compile_flags(prefix):
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "rodeo"], text=True, capture_output=True, check=True,
                           env=dict(os.environ, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig"))
    return flags.stdout.strip()


def test_program(text, folder, prefix):
    """A block without an #include is the inside of a function."""
    if "#include" not in text:
        text = f'#include "rodeo/rodeo.h"\nusing namespace rodeo;\nint main() {{\n{text}\n}}\n'
    with open(f"{folder}/block.cpp", "w", encoding="utf-8") as file:
        file.write(text)
    has_main = re.search(r"\bint main\(", text)
    command = "g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable block.cpp "
    run(command + (f"-o block {compile_flags(prefix)} && ./block" if has_main else f"-fsyntax-only -I{prefix}/include"),
        folder, prefix)


def test_block(mark, language, text, root, folder, prefix):
    """What was done, in a word."""
    word, _, argument = mark.partition(" ")
    if word == "skip":
        if not argument:
            raise Fault("skip needs a reason")
        return "skipped: " + argument
    if word == "from":
        with open(f"{root}/{argument}", encoding="utf-8") as file:
            if text.strip() not in file.read():
                raise Fault(f"is not in {argument} any more")
        return "is in " + argument
    if word == "file":
        os.makedirs(os.path.dirname(f"{folder}/{argument}") or folder, exist_ok=True)
        with open(f"{folder}/{argument}", "a", encoding="utf-8") as file:
            file.write(text)
        return "written to " + argument
    if word == "run" or (not mark and language == "sh"):
        # A document speaks of the build tree's commands; here they are the installed ones.
        os.makedirs(f"{folder}/build", exist_ok=True)
        if not os.path.lexists(f"{folder}/build/bin"):
            os.symlink(f"{prefix}/bin", f"{folder}/build/bin")
        run(text, folder, prefix)
        return "ran"
    if mark:
        raise Fault(f"unknown mark '{mark}'")
    if language == "cpp":
        test_program(text, folder, prefix)
        return "compiled"
    if language == "cmake":
        raise Fault("a cmake block needs a mark: file, from or skip")
    return ""


def main(root, document, prefix):
    text = open(f"{root}/{document}", encoding="utf-8").read()
    if text.count("\n```") % 2 != 0:
        sys.exit(f"{document}: a code block is not closed")
    marks = len(re.findall(r"^<!-- test: ", text, re.MULTILINE))
    used, failed = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for match in BLOCK.finditer(text):
            mark, language, block = match.group(1) or "", match.group(2), match.group(3)
            used += bool(mark)
            if not mark and language not in CODE:
                continue
            where = f"{document}:{text.count(chr(10), 0, match.start(3))}"
            try:
                print(f"{where}: {test_block(mark, language, block, root, folder, prefix)}")
            except (Fault, OSError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"{where}: FAILED: {fault}")
    if used != marks:
        sys.exit(f"{document}: {marks - used} marks do not stand before a code block")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
