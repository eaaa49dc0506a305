#!/usr/bin/env python3
"""Checks the links and runs the code blocks of a document: docs_test.py ROOT DOCUMENT.md PREFIX BUILD

CONTRIBUTING.md describes the markup. Everything happens in an empty folder, against the library installed in PREFIX; what a
document calls build/bin and scripts are those of BUILD and ROOT.
"""
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile

STEP = re.compile(r"^<!-- test: also ([^\n]*?) -->$|(?:^<!-- test: ([^\n]*?) -->\n+)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


FILE = re.compile(r"`((?:core|ops|layers|models|datasets|train|tests|docs|scripts|cmake|examples)/[\w./-]*)`")
LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]*))?\)")


class Fault(Exception):
    pass


def anchors(text):
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text, root, document):
    """Links to files of the repository and to headings of documents, and `paths/of/files`, that do not exist. Recipes call
    what the reader adds foo."""
    path = f"{root}/{document}"
    for name in FILE.findall(text):
        if "foo" not in name and not os.path.exists(f"{root}/{name}"):
            yield f"{name}, which does not exist"
    for target, anchor in LINK.findall(text):
        file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(file):
            yield f"{target}, which does not exist"
        elif anchor and file.endswith(".md") and anchor not in anchors(open(file, encoding="utf-8").read()):
            yield f"{target}, which has no heading #{anchor}"


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


def substituted(text, substitutions):
    """'--epochs 200 => --epochs 2; OLD => NEW': what a reader waits for, made small."""
    for substitution in filter(None, substitutions.split("; ")):
        old, arrow, new = substitution.partition(" => ")
        if not arrow or old not in text:
            raise Fault(f"'{substitution}' replaces nothing")
        text = text.replace(old, new)
    return text


def check_command(words, root, folder, prefix):
    """Of a command that is not run: it is there, and knows all of its options."""
    if words[0] == "make":
        return run(f"make -n -C '{root}' {' '.join(words[1:])}", folder, prefix)
    if words[0].startswith("scripts/"):
        script = f"'{root}/{words[0]}'"
        python = "python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())'"
        syntax = python if words[0].endswith(".py") else "bash -n"
        return run(f"test -x {script} && {syntax} {script}", folder, prefix)
    if words[:2] == ["cmake", "--preset"]:
        return run(f"cd '{root}' && cmake --list-presets | grep -F '\"{words[2]}\"'", folder, prefix)
    if words[0] == "cmake" and words[1] in ("--build", "--install"):
        with open(f"{root}/CMakePresets.json", encoding="utf-8") as file:
            folders = [preset["binaryDir"] for preset in json.load(file)["configurePresets"]]
        if "${sourceDir}/" + words[2] not in folders:
            raise Fault(f"no preset builds in {words[2]}")
        return None
    raise Fault(f"'{' '.join(words)}' cannot be checked: run it")


def test_python(text, prelude, folder, prefix):
    """The prelude holds what the reader has already: arrays, a model."""
    needed = [name for name in re.findall(r"import ([\w, ]+)", prelude)[0].replace(" ", "").split(",")] if prelude else []
    missing = [name for name in needed if not importlib.util.find_spec(name)]
    if missing:
        return f"skipped: no {', '.join(missing)} in this Python"
    with open(f"{folder}/block.py", "w", encoding="utf-8") as file:
        file.write(f"{prelude}\n{text}")
    run(f"'{sys.executable}' -B block.py", folder, prefix)
    return "ran"


def test_block(mark, language, text, root, folder, prefix):
    """What was done, in a word."""
    word, _, argument = mark.partition(" ")
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
    if word == "text" and not language:
        return "is text"
    if word == "check":
        for line in filter(None, text.splitlines()):
            for command in line.partition("#")[0].split("&&"):
                check_command(command.split(), root, folder, prefix)
        return "not run: its targets and presets are there"
    if word == "python" and language == "python":
        return test_python(text, argument, folder, prefix)
    if word == "run" or (not mark and language == "sh"):
        run(substituted(text, argument), folder, prefix)
        return "ran" + (f" with {argument}" if argument else "")
    if mark:
        raise Fault(f"unknown mark '{mark}'")
    if language == "cpp":
        test_program(text, folder, prefix)
        return "compiled"
    raise Fault(f"a block of the kind '{language}' needs a mark: see CONTRIBUTING.md")


def main(root, document, prefix, build):
    text = open(f"{root}/{document}", encoding="utf-8").read()
    if text.count("\n```") % 2 != 0:
        sys.exit(f"{document}: a code block is not closed")
    marks = len(re.findall(r"^<!-- test: ", text, re.MULTILINE))
    used, failed = 0, 0
    for link in broken_links(text, root, document):
        failed += 1
        print(f"{document}: FAILED: names {link}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f"{folder}/build")
        os.symlink(f"{build}/bin", f"{folder}/build/bin")
        os.symlink(f"{root}/scripts", f"{folder}/scripts")
        for match in STEP.finditer(text):
            also, mark, language, block = match.group(1), match.group(2) or "", match.group(3), match.group(4)
            used += bool(also or mark)
            where = f"{document}:{text.count(chr(10), 0, match.start(1 if also else 4)) + bool(also)}"
            try:
                if also:
                    run(also, folder, prefix)
                else:
                    print(f"{where}: {test_block(mark, language, block, root, folder, prefix)}", flush=True)
            except (Fault, OSError, subprocess.CalledProcessError) as fault:
                failed += 1
                print(f"{where}: FAILED: {fault}", flush=True)
    if used != marks:
        sys.exit(f"{document}: {marks - used} marks do not stand before a code block")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
