#!/usr/bin/env python3
"""Checks that every public function states its contract: check_contracts.py ROOT HEADER...

An operator is a function in ops/ that takes or returns tensors or graphs. Its comment, or the comment at the head of its
file, states shapes, dtypes, errors and determinism. Every other function at namespace scope needs a comment, except
operator<< and name(). Prints one line for each fault; the exit code is 1 if there are any.
"""
import re
import sys

from doxygen_filter import blocks

FACTS = {
    "shapes": r"\[[\w, .*+/-]*\]|[Ss]hape|scalar|square|whole matrix",
    "dtypes": r"\b(f64|f32|bf16|f16|i64|i32|u8|[Ff]loating|[Dd]types?|bool)\b",
    "errors": r"\b[Ee]rrors?\b|[Tt]hrows",
    "determinism": r"[Dd]eterminis|same bits|on every device|the same (on|arrays|for)|fixed order|to the bit",
}
OPERATOR = re.compile(r"\b(Tensor|Variable)&|^(Tensor|Variable|Adjacency|EdgeList|Transposed|CooResult)\b", re.MULTILINE)
NO_OPERATORS = ("ops/checks.h", "ops/index_checks.h", "ops/spmm_tuner.h")
SELF_EXPLAINING = re.compile(r"\b(operator<<|name)\(")


def faults(root, header):
    lines = open(f"{root}/{header}", encoding="utf-8").read().split("\n")
    intro = ""
    for comment, code in blocks(lines):
        text = " ".join(line.strip()[3:] for line in comment)
        if code and code[0].startswith("#pragma once"):
            intro = text
            continue
        joined = "\n".join(code)
        first = next((line for line in code if re.match(r"[a-zA-Z\[]", line) and not line.startswith("namespace")), "")
        if not re.match(r"(?!using|constexpr|class|struct|enum|extern)[\w:<>&*\[\] ]+\b(\w+|operator\S+)\(", first):
            continue
        function = re.search(r"(\w+|operator\S+)\(", first)[1]
        if SELF_EXPLAINING.search(first) and not comment:
            continue
        if not comment:
            yield f"{function} has no comment"
        elif header.startswith("ops/") and header not in NO_OPERATORS and OPERATOR.search(joined):
            for fact, pattern in FACTS.items():
                if not re.search(pattern, intro + " " + text):
                    yield f"{function} does not state its {fact}"


def index_faults(index, headers):
    """What docs/headers.md lists wrongly. A line of its tables is | `HEADER` | WORDS |."""
    listed = re.findall(r"^\| `(\S+\.h)` \| [^|\n]+ \|$", index, re.MULTILINE)
    for header in sorted(set(headers) - set(listed)):
        yield f"{header}: is public and has no line in docs/headers.md"
    for header in sorted(set(listed) - set(headers)):
        yield f"docs/headers.md: lists {header}, which is no public header"
    for header in sorted({header for header in listed if listed.count(header) > 1}):
        yield f"docs/headers.md: lists {header} twice"


if __name__ == "__main__":
    root, headers = sys.argv[1], sys.argv[2:]
    found = [f"{header}: {fault}" for header in headers for fault in faults(root, header)]
    with open(f"{root}/docs/headers.md", encoding="utf-8") as file:
        found += index_faults(file.read(), headers)
    print("\n".join(found) if found else f"{len(headers)} headers")
    sys.exit(1 if found else 0)
