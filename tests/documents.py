"""What a document tells its reader to do. For docs_test.py and scripts/follow_documents.py.

A block of the kind `sh` holds commands. A block after "Write `PATH`" or "Append to `PATH`" is a file that the reader writes.
A remark behind a command says why it is skipped here: `# takes 8 minutes`, `# needs a GPU`. One with
`# needs the Python packages NAME, ...` is skipped only where one of them is missing.
"""
import ast
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SKIPPED = re.compile(r"takes (?:about )?(?:\d+|an?|some) (?:minutes?|hours?)[^,;:.]*"
                     r"|needs (?:a GPU|root|the network|the files|clang|PyTorch|PyG|DGL|the package \w+)")
PACKAGES = re.compile(r"needs the Python packages? (\w+(?:, \w+)*)")
REMARK = re.compile(r"(.*?)(?:(?:^|\s+)# (.*))?$")
FILE_NAME = re.compile(r"[\w./-]+\.(?:h5|csv|json|npz|safetensors|svg|mtx|html)\b")


class Fault(Exception):
    pass


def why_skipped(remark):
    """Why the commands of a remark are not run; empty: they are."""
    packages = PACKAGES.search(remark or "")
    if packages:
        absent = [name for name in packages[1].split(", ") if not importlib.util.find_spec(name)]
        return f"needs {', '.join(absent)} for Python" if absent else ""
    match = SKIPPED.search(remark or "")
    return match[0] if match else ""


@dataclass
class Command:
    line: int
    text: str
    skipped: str  # why, or ""


@dataclass
class Block:
    line: int       # of its first line of text
    kind: str       # sh, text, cpp, ...
    text: str
    before: str     # the paragraph before it

    def file(self):
        """(path, mode) where the reader is told to write the block to a file."""
        match = re.search(r"\b([Ww]rite|[Aa]ppend\s+to)\s`([^`]+)`[^`]*$", self.before)
        return (match[2], "w" if match[1].lower() == "write" else "a") if match else None

    def commands(self):
        lines, reason = self.text.split("\n"), ""
        at = 0
        while at < len(lines):
            first, text = at, lines[at]
            while text.endswith("\\") and at + 1 < len(lines):
                at += 1
                text = text[:-1] + lines[at].lstrip()
            at += 1
            words, remark = REMARK.match(text).groups()
            why = why_skipped(remark)
            if not text.strip():
                reason = ""  # a comment in a line of its own is for the lines up to a blank one
            elif not words.strip():
                reason = why
            else:
                yield Command(self.line + first, words.strip(), why or reason)


def blocks(text):
    for match in BLOCK.finditer(text):
        before = text[:match.start()].rstrip().rpartition("\n\n")[2]
        yield Block(text.count("\n", 0, match.start(2)) + 1, match[1], match[2], before)


def weak_results(text):
    """Results that teach nothing, at the best epoch, after the last one or of one of several runs: a share of right classes of
    at most twice that of the largest class, where twice is at most 0.9, or an AUC of at most 0.7."""
    number = r"(-?\d\.\d+)"
    ends = re.findall(rf"^test (\S+) +{number} at .*\n +{number} after .*(?:\n +{number} of the test \w+ are of the largest class)?",
                      text, re.MULTILINE)
    runs = re.findall(rf"\btest {number} .*final_test {number} .*?(?:majority {number} )?metric (\S+)$", text, re.MULTILINE)
    for metric, *found, share in ends + [(metric, best, last, share) for best, last, share, metric in runs]:
        least = 0.7 if metric.endswith("AUC") else 2 * float(share) if share else None
        if least and min(map(float, found)) <= least <= 0.9:
            yield f"ends with test {metric} {min(found)}, and {least:.4g} teaches nothing"


class Reader:
    """Does in `folder`, a clone, what documents say. `skip(command)` is called for a command that is skipped."""

    def __init__(self, folder, environment, skip=lambda command: None, output=subprocess.PIPE):
        self.folder, self.environment, self.skip, self.output = folder, environment, skip, output
        self.missing = set()  # files that only skipped commands write

    def run(self, command):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.folder, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Fault(f"{command}\nexited with {done.returncode}:\n{done.stdout or ''}")
        for fault in weak_results(done.stdout or ""):
            raise Fault(f"{command}\n{fault}")
        return done.stdout

    def write(self, path, mode, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, mode, encoding="utf-8") as file:
            file.write(text)

    def follow_command(self, command):
        """What was done, in a word."""
        names = {name for name in FILE_NAME.findall(command.text) if not os.path.exists(f"{self.folder}/{name}")}
        reason = command.skipped or next((f"needs {name}" for name in sorted(names & self.missing)), "")
        if reason:
            self.missing |= names
            self.skip(command)
            return f"skipped, {reason}: {command.text}"
        if shlex.split(command.text)[0] in ("cd", "export", "source"):
            raise Fault(f"{command.text}: each command is run in a shell of its own")
        if re.search(r"\brand\(\)", command.text):
            raise Fault(f"{command.text}: mawk 1.3.4 of Ubuntu 24.04 draws other numbers in each run, also after srand(): "
                        "write a generator, as docs/heterogeneous.md does")
        self.run(re.sub(r"^python3 ", f"'{sys.executable}' ", command.text))  # the one with the packages
        return f"ran {command.text}"

    def follow_python(self, text):
        imports = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.Import, ast.ImportFrom))]
        modules = {name.split(".")[0] for node in imports
                   for name in ([alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module])}
        absent = sorted(name for name in modules if not importlib.util.find_spec(name))
        if absent:
            self.missing |= set(FILE_NAME.findall(text))
            return f"skipped, needs {', '.join(absent)} for Python"
        self.write("block.py", "w", text)
        self.run(f"'{sys.executable}' -B block.py")
        return "ran by Python"

    def follow(self, block):
        """Yields (line, what was done or the Fault). Blocks that a reader only reads yield nothing."""
        if block.kind == "sh":
            for command in block.commands():
                try:
                    yield command.line, self.follow_command(command)
                except Fault as fault:
                    yield command.line, fault
        elif block.file():
            self.write(*block.file(), block.text)
            yield block.line, f"wrote {block.file()[0]}"
        elif block.kind == "python":
            try:
                yield block.line, self.follow_python(block.text)
            except Fault as fault:
                yield block.line, fault
