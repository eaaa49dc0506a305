#!/usr/bin/env python3
"""Follows a document as a reader does: docs_test.py ROOT DOCUMENT.md PREFIX BUILD COMMAND,...

Its commands run in their order in a folder that looks like a clone after `make demo`: what that builds (COMMAND,...) is in
build/bin. CONTRIBUTING.md says how a document shows what cannot run here. Blocks of C++ are compiled against the library
installed in PREFIX. Links must lead somewhere, and commands that are only named must know their options.
"""
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from documents import Fault, Reader, blocks  # noqa: E402

FILE = re.compile(r"`((?:core|ops|layers|models|datasets|train|bench|tests|docs|scripts|cmake|examples)/[\w./-]*)`")
LINK = re.compile(r"\]\(([^)\s#:]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"`(?:build/bin/)?((?:train|rodeo|sparse|epoch)_\w+ [^`]+)`")
SCRIPT = re.compile(r"`python3 ([\w./]+\.py)\b")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
BUILDS_ALL = re.compile(r"make( build| test| bench)?|cmake .*--build build\S*")


def anchors(text):
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
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


class Clone:
    """A folder that looks like a clone after `make demo`, with the files of ROOT and the programs of BUILD."""

    def __init__(self, folder, root, build, commands):
        self.folder, self.root, self.build = folder, root, build
        os.makedirs(f"{folder}/build/bin")
        for name in os.listdir(root):
            if name == "examples":  # readers build in it
                shutil.copytree(f"{root}/{name}", f"{folder}/{name}")
            elif os.path.isdir(f"{root}/{name}") and not name.startswith((".", "build")):
                os.mkdir(f"{folder}/{name}")  # no link: what readers write must not have the name of a folder
                for inner in os.listdir(f"{root}/{name}"):
                    os.symlink(f"{root}/{name}/{inner}", f"{folder}/{name}/{inner}")
            elif os.path.isfile(f"{root}/{name}"):
                os.symlink(f"{root}/{name}", f"{folder}/{name}")
        os.symlink(f"{build}/cmake_install.cmake", f"{folder}/build/cmake_install.cmake")
        self.link(commands)

    def link(self, programs):
        for name in programs:
            if not os.path.lexists(f"{self.folder}/build/bin/{name}"):
                os.symlink(f"{self.build}/bin/{name}", f"{self.folder}/build/bin/{name}")

    @functools.lru_cache(maxsize=None)
    def help(self, *words):
        return "".join(subprocess.run([f"{self.build}/bin/{words[0]}", *words[1:], "--help", *more], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
                       for more in ([], ["kernels"]))

    def check_options(self, words):
        """That a program of the build has the options of a command line that is not run."""
        program = os.path.basename(words[0])
        if not os.path.exists(f"{self.build}/bin/{program}"):
            raise Fault(f"{program} is not in build/bin")
        text = self.help(program)
        if program == "rodeo_data" and len(words) > 1 and not words[1].startswith("-"):
            text = self.help(program, words[1])
        if "--model" in text:
            text += "".join(self.help("rodeo_train", "--model", model) for model in ("gcn", "gat", "sage", "gin", "sgc", "appnp", "gcn2"))
            text += "".join(self.help("rodeo_train", "--model", "gin", "--task", task) for task in ("link", "graph"))
        for word in words[1:]:
            option = re.match(r"--[a-z][\w-]*", word)
            if option and not re.search(re.escape(option[0]) + r"(?![\w-])", text) and option[0] not in ("--help", "--version"):
                raise Fault(f"{program} has no option {option[0]}")

    def check_skipped(self, command):
        """A command that is skipped has to be there. One that builds everything has done so for the commands after it."""
        words = shlex.split(command.text)
        if words[0] == "make":
            subprocess.run(["make", "-n", "-C", self.root, *words[1:]], check=True, stdout=subprocess.DEVNULL)
        elif words[0].startswith("scripts/") and not os.access(f"{self.root}/{words[0]}", os.X_OK):
            raise Fault(f"{words[0]} is no executable file")
        elif words[:2] == ["cmake", "--preset"]:
            presets = subprocess.run(["cmake", "--list-presets"], cwd=self.root, check=True, text=True, capture_output=True)
            if f'"{words[2]}"' not in presets.stdout:
                raise Fault(f"there is no preset {words[2]}")
        elif words[0] == "python3" and words[1] != "-m" and not os.path.exists(f"{self.root}/{words[1]}"):
            raise Fault(f"{words[1]} does not exist")
        elif words[0].startswith("build/bin/"):
            self.check_options(words)
        if any(BUILDS_ALL.fullmatch(part.strip()) for part in command.text.split("&&")):
            self.link(os.listdir(f"{self.build}/bin"))

    def check_named(self, text):
        """Commands `in backquotes` know their options, scripts are there."""
        for script in SCRIPT.findall(text):
            if not os.path.exists(f"{self.root}/{script}"):
                yield f"names python3 {script}, which does not exist"
        for match in CODE.finditer(FENCE.sub("", text)):
            try:
                words = shlex.split(match[1])
            except ValueError:
                continue
            if os.path.exists(f"{self.build}/bin/{words[0]}"):
                try:
                    self.check_options(words)
                except Fault as fault:
                    yield f"`{' '.join(match[1].split())}`: {fault}"


def test_program(text, reader, prefix):
    """A block without an #include is the inside of a function; one with a main() is run."""
    if "#include" not in text:
        text = f'#include "rodeo/rodeo.h"\nusing namespace rodeo;\nint main() {{\n{text}\n}}\n'
    reader.write("block.cpp", "w", text)
    flags = f"$(PKG_CONFIG_PATH='{prefix}/lib/pkgconfig' pkg-config --cflags --libs rodeo)"
    command = "g++ -std=c++20 -Wall -Wextra -Werror -Wno-unused-variable -Wno-unused-but-set-variable block.cpp "
    reader.run(command + (f"-o block {flags} && ./block" if re.search(r"\bint main\(", text) else f"-fsyntax-only -I'{prefix}/include'"))
    return "compiled"


def test_block(block, reader, root, prefix):
    """Yields (line, what was done or the Fault)."""
    if block.kind not in ("sh", "text", "python", "cpp") and not block.file():
        raise Fault(f"a block of the kind '{block.kind}': see CONTRIBUTING.md")
    source = re.search(r"\bFrom `([^`]+)`:$", block.before)
    if source:
        with open(f"{root}/{source[1]}", encoding="utf-8") as file:
            if block.text.strip() not in file.read():
                raise Fault(f"is not in {source[1]} any more")
        yield block.line, f"is in {source[1]}"
    elif block.kind == "cpp" and not block.file():
        yield block.line, test_program(block.text, reader, prefix)
    else:
        yield from reader.follow(block)


def main(root, document, prefix, build, commands):
    text = open(f"{root}/{document}", encoding="utf-8").read()
    if text.count("\n```") % 2 != 0:
        sys.exit(f"{document}: a code block is not closed")
    failed = []

    def fail(line, fault):
        failed.append(line)
        print(f"{document}{line}: FAILED: {fault}", flush=True)

    if "<!-- test" in text:
        fail("", "has a hidden comment for tests: readers must see what they have to do")
    for link in broken_links(text, root, document):
        fail("", f"names {link}")
    with tempfile.TemporaryDirectory() as temporary:
        clone = Clone(f"{temporary}/rodeo", root, build, commands.split(","))
        os.mkdir(f"{temporary}/home")
        environment = dict(os.environ, HOME=f"{temporary}/home")
        for name in ("CMAKE_PREFIX_PATH", "PKG_CONFIG_PATH", "RODEO_CACHE_DIR", "XDG_CACHE_HOME"):
            environment.pop(name, None)
        reader = Reader(clone.folder, environment, clone.check_skipped)
        for fault in clone.check_named(text):
            fail("", fault)
        for block in blocks(text):
            try:
                for line, done in test_block(block, reader, root, prefix):
                    if isinstance(done, Fault):
                        fail(f":{line}", done)
                    else:
                        print(f"{document}:{line}: {done}", flush=True)
            except (Fault, OSError, SyntaxError, subprocess.CalledProcessError) as fault:
                fail(f":{block.line}", fault)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
