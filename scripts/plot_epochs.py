#!/usr/bin/env python3
"""Draws docs/pictures/epochs.svg: milliseconds an epoch of Rodeo and of PyTorch Geometric.

    scripts/plot_epochs.py > docs/pictures/epochs.svg

The numbers and Rodeo's commit are read from the section "Compared with PyTorch Geometric" of docs/benchmarks/training.md. Of
PyG's two variants of GCN the faster one is drawn.
"""
import math
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WIDTH, LEFT, RIGHT, TOP, GROUP, BAR = 780, 150, 110, 66, 42, 14
OURS, THEIRS = "#0f766e", "#94a3b8"
LOW, HIGH = 0.03, 500  # ms


def section():
    text = open(f"{ROOT}/docs/benchmarks/training.md", encoding="utf-8").read()
    return text.split("## Compared with PyTorch Geometric")[1].split("\n## ")[0]


def rows():
    """(name, PyG's ms or None, Rodeo's ms) of each line of the table."""
    for line in re.findall(r"^\| (.*) \|$", section(), re.MULTILINE)[2:]:
        name, scatter, csr, ours = [cell.strip() for cell in line.split("|")][:4]
        times = [float(cell) for cell in (scatter, csr) if re.fullmatch(r"[\d.]+", cell)]
        yield name, min(times, default=None), float(ours)


def x_of(ms):
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ms / LOW) / math.log(HIGH / LOW)


def text(x, y, words, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{words}</text>'


def bar(y, ms, colour, label):
    return [f'<rect x="{LEFT}" y="{y}" width="{x_of(ms) - LEFT:.1f}" height="{BAR}" fill="{colour}" rx="2"/>',
            text(x_of(ms) + 5, y + BAR - 3, label)]


def main():
    table = list(rows())
    commit = re.search(r"commit (\w{7})", section())[1]
    height = TOP + GROUP * len(table) + 36
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="system-ui, sans-serif" font-size="12" fill="#1f2937">',
           f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
           text(12, 22, "Milliseconds per training epoch, one H200 (log scale, shorter is better)",
                'font-size="15" font-weight="600"'),
           f'<rect x="12" y="34" width="12" height="12" fill="{OURS}" rx="2"/>', text(30, 44, f"Rodeo at commit {commit}"),
           f'<rect x="190" y="34" width="12" height="12" fill="{THEIRS}" rx="2"/>',
           text(208, 44, "PyTorch Geometric 2.8, the faster of scatter and torch.sparse CSR")]
    for tick in (0.1, 1, 10, 100):
        out += [f'<line x1="{x_of(tick):.1f}" y1="{TOP - 8}" x2="{x_of(tick):.1f}" y2="{height - 26}" stroke="#e5e7eb"/>',
                text(x_of(tick), height - 12, f"{tick:g} ms", 'text-anchor="middle" fill="#6b7280"')]
    for place, (name, theirs, ours) in enumerate(table):
        y = TOP + GROUP * place
        out.append(text(LEFT - 8, y + BAR + 4, name, 'text-anchor="end"'))
        ratio = f"  ({theirs / ours:.0f}x)" if theirs else ""
        out += bar(y, ours, OURS, f"{ours:g}{ratio}")
        out += bar(y + BAR + 1, theirs, THEIRS, f"{theirs:g}") if theirs else [
            text(LEFT + 4, y + 2 * BAR - 2, "out of memory", 'fill="#6b7280"')]
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
