#!/usr/bin/env python3
"""Numbers of the README and the guides are those of a measurement: claims_test.py ROOT

A claim is a time, a bandwidth, a size of memory or a speed-up outside of code blocks. "At most 50 ms" is a rule of the code,
no claim. Each claim has a row in SOURCES, which computes it from raw output or a table of docs/benchmarks. So a claim without
a source fails, and one that its source does not support. Claims of one table row or paragraph are one row of SOURCES.
The tests that docs/fidelity.md names as guards must exist.
"""
import csv
import glob
import re
import sys

ROOT = sys.argv[1]
NUMBER = r"\d[\d.]*"
CLAIM = re.compile(rf"(?<![\w.`-])(?<![Aa]t most )(?<![Aa]t least ){NUMBER}(?: to {NUMBER})?"
                   r"(?: times (?:as|slower|faster|longer)| ?(?:% )?(?:slower|faster|longer)\b| (?:ms|us|TB/s|GB/s|GiB)\b|x\b)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def claims(text):
    """The claims of each table row and each paragraph that has any, joined."""
    text = re.sub(r"\n(?=\||- |#)", "\n\n", FENCE.sub("", text))
    for part in re.split(r"\n\s*\n", text):
        found = CLAIM.findall(" ".join(part.split()))
        if found:
            yield " ".join(found)


def unsupported(claim, values):
    """The numbers of the claim that are not those of its source, rounded to as many digits."""
    numbers = re.findall(NUMBER, claim)
    if len(numbers) != len(values):
        return f"has {len(numbers)} numbers, its source {len(values)}"
    wrong = [f"{have}: the source says {value:g}" for have, value in zip(numbers, values)
             if f"{value:.{len(have.partition('.')[2])}f}" != have]
    return "; ".join(wrong)


def read(page):
    with open(f"{ROOT}/docs/benchmarks/{page}", encoding="utf-8") as file:
        return file.read()


def cells(page, heading, *first):
    """The other cells of the table row below a heading that begins with these cells; of "11.9 -> 1.17" both numbers."""
    below = re.split(rf"^#+ {re.escape(heading)}$", read(page), flags=re.MULTILINE)[1]
    row = re.search(rf"^\| {re.escape(' | '.join(first))} \|(.*)\|$", below, re.MULTILINE)[1]
    return [[float(number) for number in re.findall(NUMBER, cell)] for cell in row.split("|")]


def epoch(graph, memory):
    scatter, csr_form, ours, _, peak = cells("training.md", "Compared with PyTorch Geometric", graph)
    theirs = min(scatter + csr_form)
    return [ours[0], peak[1], theirs, peak[0], theirs / ours[0]] if memory else [ours[0], theirs, theirs / ours[0]]


def spmm(dtypes, graphs):
    """ms by (graph, dtype, weighted, columns) and kernel."""
    times = {}
    for name in ("large", "patterns"):
        for row in csv.DictReader(read(f"0.3/raw/sparse_{name}_h200.csv").splitlines()):
            if row["op"] == "spmm" and row["dtype"] in dtypes and row["graph"] in graphs:
                times.setdefault((row["graph"], row["dtype"], row["weighted"], row["n"]), {})[row["kernel"]] = float(row["ms"])
    return times


def ratios(kernel, dtypes, graphs, weighted):
    """The smallest and the largest time of a kernel / that of RoDe."""
    all_of = [ms[kernel] / ms["rode"] for (_, _, weights, _), ms in spmm(dtypes, graphs).items() if weights in weighted]
    return [min(all_of), max(all_of)]


def against_cusparse():
    ms = spmm(["f32"], ["reddit-like"])["reddit-like", "f32", "0", "128"]
    best = min(time for kernel, time in ms.items() if kernel.startswith("cusparse"))
    return [ms["auto"], best, best / ms["auto"]]


def launch():
    chain = re.search(r"an empty kernel ([\d.]+), .*?one to four dependent loads", read("kernels.md"), re.DOTALL)
    return [float(chain[1])]


HUGE = ("reddit-like", "products-like", "rmat-18-100M")
SOURCES = [
    ("README.md", "0.056 ms 1.79 ms 32x", lambda: epoch("Cora, GCN", False)),
    ("README.md", "3.73 ms 1.2 GiB 75.2 ms 11.9 GiB 20x", lambda: epoch("Reddit-like, GCN", True)),
    ("README.md", "1.42 ms 24.6 ms 17x", lambda: epoch("arxiv-like, GAT", False)),
    ("README.md", "3.97 ms 7.32 ms 1.8x", against_cusparse),
    ("README.md", "1.79 times as", lambda: cells("collectives.md", "Training over two GPUs", "reddit-like, GCN 2 x 128")[2]),
    ("docs/choosing_spmm.md", "5.6 to 56 times as", lambda: ratios("csr", ["f32", "f16"], ["arxiv-like"], "01")),
    ("docs/choosing_spmm.md", "0.96 to 1.45 times as 0.98 to 1.16 times as",
     lambda: ratios("rode-tc", ["f16"], HUGE, "01") + ratios("rode-tc", ["f16"], HUGE, "0")),
    ("docs/kernels/dense.md", "2.7 us", launch),
    ("docs/kernels/spmm_small_graphs.md", "2.7 us", launch),
]
CASES = [
    ("It takes 1.5 ms,\nor 3 us.", ["1.5 ms 3 us"]),
    ("It is 1.2 to 3\ntimes as fast.\n\nIt is 7 % faster.", ["1.2 to 3 times as", "7 % faster"]),
    ("| a | 2 ms | 3x |\n| b | 4 GiB | 8 x 8 |", ["2 ms 3x", "4 GiB"]),
    ("At most 50 ms, and it is at least 1.15 times as fast, and has 4 times 8 lanes.\n\n```text\n9 ms\n```\n", []),
]


def unknown_tests():
    """`Suite.Test` of docs/fidelity.md that no source of tests has."""
    known = set()
    for path in glob.glob(f"{ROOT}/tests/*/*.cpp"):
        with open(path, encoding="utf-8") as file:
            known |= {".".join(pair) for pair in re.findall(r"TEST(?:_[PF])?\((\w+), (\w+)\)", file.read())}
    with open(f"{ROOT}/docs/fidelity.md", encoding="utf-8") as file:
        named = re.findall(r"`([A-Z]\w+\.[A-Z]\w+)`", file.read())
    return [f"docs/fidelity.md: there is no test {name}" for name in named if name not in known] or (
        [] if len(named) > 30 else ["docs/fidelity.md names no tests"])


def main():
    faults = [f"{text!r}: expected {want}, got {list(claims(text))}" for text, want in CASES if list(claims(text)) != want]
    if unsupported("1.2 to 3 ms", [1.234, 3.4]) or not unsupported("1.2 ms", [1.26]) or not unsupported("1 ms", []):
        faults.append("unsupported() does not round to the digits of the claim")
    faults += unknown_tests()
    missing = {(document, claim) for document, claim, _ in SOURCES}
    guides = [path[len(ROOT) + 1:] for pattern in ("*.md", "kernels/*.md") for path in sorted(glob.glob(f"{ROOT}/docs/{pattern}"))]
    for document in ["README.md"] + guides:
        with open(f"{ROOT}/{document}", encoding="utf-8") as file:
            for claim in claims(file.read()):
                sources = [source for path, text, source in SOURCES if (path, text) == (document, claim)]
                missing.discard((document, claim))
                fault = unsupported(claim, sources[0]()) if sources else "no row of SOURCES in tests/claims_test.py has it"
                faults += [f"{document}: '{claim}': {fault}"] if fault else []
    faults += [f"{document}: has no '{claim}' any more: delete its row of SOURCES" for document, claim in sorted(missing)]
    print(*faults, f"{len(SOURCES)} claims, {len(faults)} faults", sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
