#!/usr/bin/env python3
"""Prints the tables of docs/benchmarks/kernels.md, as Markdown, from the CSV files of sparse_bench.

    scripts/benchmark_tables.py FOLDER [--slower PERCENT] [--before FOLDER]

FOLDER has one release's files, docs/benchmarks/0.3/raw for example: all its sparse_*.csv are read. Graphs named in
SYNTHETIC make the tables in ms, all others those of real graphs in us. Two lists end the output: cells in which auto
takes PERCENT (default 3) longer than the fastest of our kernels, and cells in which cuSPARSE is faster than auto. Cells
without auto or without a right result of cuSPARSE are left out; what was not measured is "-". The first list also names
the kernel whose time is nearest to auto's: auto runs one of them, so a nearest that is the fastest speaks for two
timings of one kernel, any other for a choice that can be better. It is a hint, no proof: no cell is left out for it.
Where the file names what auto took (column variant), the first list compares that kernel's own row with the fastest
instead. The table before the lists and the last line count the cells by the time of auto's own row, too, as a user sees it.

--before names the folder of the release before, docs/benchmarks/0.3/raw for example (0.2 has text files, which are read,
too). The cells of both in which one of our kernels takes PERCENT longer than it did are listed last. Both must
be of one kind of GPU: times of cuSPARSE, which did not change, are compared in the line below.
"""
import argparse
import collections
import csv
import glob
import math

SYNTHETIC = ["arxiv-like", "reddit-like", "products-like", "rmat-18-100M", "rmat-20-16M", "powerlaw-1M-20M",
             "uniform-1M-32", "grid-27-100", "grid-7-100"]
LARGE = SYNTHETIC[:3]
TYPES = ["f32", "f16"]
BOTH = ["0", "1"]  # without, with weights
NAMES = {"spmm": "SpMM", "sddmm": "SDDMM", "spmv": "SpMV"}
SPMM = {"csr": "CSR", "rode": "RoDe", "rode-tc": "RoDe-TC", "tca": "TCA"}


def load(folder):
    """{(graph, op, dtype, weighted, n): {kernel: row}} of the rows that have a time and a right result."""
    cells = collections.defaultdict(dict)
    for path in sorted(glob.glob(f"{folder}/sparse_*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                row["ms"] = float(row["ms"] or "nan")
                if math.isfinite(row["ms"]) and row["verdict"] != "WRONG":
                    cells[row["graph"], row["op"], row["dtype"], row["weighted"], int(row["n"])][row["kernel"]] = row
    return {key: rows for key, rows in cells.items()
            if "auto" in rows and len({row["peer"] for row in rows.values()}) == 2 and ours(rows, key[2])}


def times(folder):
    """{(graph, op, dtype, weighted, n, kernel): ms} of CSV files and of the printed form, right results only."""
    out = {}
    for path in sorted(glob.glob(f"{folder}/sparse_*.csv")):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row["ms"] and row["verdict"] != "WRONG":
                    out[(*(row[c] for c in ("graph", "op", "dtype", "weighted")), int(row["n"]), row["kernel"])] = float(row["ms"])
    for path in sorted(set(glob.glob(f"{folder}/sparse_h*.txt")) - set(glob.glob(f"{folder}/*_of_*"))):
        graph = ""
        with open(path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if " edges, " in line:
                    graph = line.split(":")[0]
                elif len(words) > 5 and words[0] in NAMES and "WRONG" not in line:
                    op, dtype, n, kernel, ms = words[:5]
                    kernel = "rode-tc" if kernel == "tca" else kernel  # its name until 0.2
                    out[graph, op, dtype, "0", int(n), kernel] = float(ms)
    return out


def lost(before, after, percent):
    """Prints where a kernel takes `percent` longer than before."""
    ratios = {key: ms / before[key] for key, ms in after.items() if before.get(key)}
    peers = [ratio for key, ratio in ratios.items() if "cusparse" in key[5]]
    mine = {key: ratio for key, ratio in ratios.items() if "cusparse" not in key[5]}
    slower = sorted(((ratio, key) for key, ratio in mine.items() if ratio > 1 + percent / 100), reverse=True)
    table(f"Slower by {percent:g} % than before: {len(slower)} of {len(mine)} cells and kernels",
          ["after / before", "cell", "kernel", "before, us", "after, us"],
          [(f"{ratio:.3f}", f"{g} {op} {d} {'with' if w == '1' else 'without'} weights, {n}", kernel,
            digits(before[g, op, d, w, n, kernel] * 1e3), digits(after[g, op, d, w, n, kernel] * 1e3))
           for ratio, (g, op, d, w, n, kernel) in slower])
    kernels = sorted({(key[1], key[5], key[2]) for key in mine})
    by = {k: [ratio for key, ratio in mine.items() if (key[1], key[5], key[2]) == k] for k in kernels}
    table("After / before by kernel:", ["operation", "kernel", "type", "cells", "mean", "largest"],
          [(*k, len(v), f"{mean(v):.3f}", f"{max(v):.3f}") for k, v in by.items()])
    if peers:
        print(f"cuSPARSE, the same code if its version is: {mean(peers):.3f}, {min(peers):.3f} to {max(peers):.3f}.\n")


def ours(rows, dtype):
    """Our kernels with sums in order, each chosen by name; in f32 without those that round to TF32."""
    return {name: row["ms"] for name, row in rows.items() if row["peer"] == "0" and name != "auto" and "atomic" not in name
            and not (dtype == "f32" and name in ("rode-tc", "tca"))}


def peer(rows):
    return min((row["ms"] for row in rows.values() if row["peer"] == "1"), default=math.nan)


def auto(rows):
    return rows["auto"]["ms"]


def chosen(rows):
    """The row's time of the kernel that auto took, where the file names it: one timing of one kernel."""
    name = rows["auto"].get("variant")
    return rows[name]["ms"] if name in rows else auto(rows)


def mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def digits(value):
    """Three significant digits, at most three decimals."""
    decimals = 2 - math.floor(math.log10(value))
    return f"{value:.{min(3, max(0, decimals))}f}" if value < 1000 else f"{value:.0f}"


def table(title, head, rows):
    print(f"{title}\n")
    for row in [head, ["---"] * len(head), *rows]:
        print("|" + "".join(f" {cell} |" if cell != "" else " |" for cell in row))
    print()


class Tables:
    def __init__(self, cells):
        self.cells = cells
        names = {key[0] for key in cells}
        self.synthetic = [name for name in SYNTHETIC if name in names]
        self.real = sorted(names - set(SYNTHETIC))

    def widths(self, graphs, op):
        return sorted({key[4] for key in self.cells if key[0] in graphs and key[1] == op})

    def select(self, op, dtype, weighted, graphs=None):
        return {key: rows for key, rows in self.cells.items()
                if key[1:4] == (op, dtype, weighted) and (graphs is None or key[0] in graphs)}

    def pair(self, graph, op, dtype, n, text):
        """text(rows) without / with weights."""
        return " / ".join(self.one(graph, op, dtype, weighted, n, text) for weighted in BOTH)

    def one(self, *key_and_text):
        *key, text = key_and_text
        try:
            return text(self.cells[tuple(key)])
        except KeyError:
            return "-"

    def summary(self):
        rows = []
        for op, name in NAMES.items():
            ratios = {(dtype, w): {key: peer(cell) / auto(cell) for key, cell in self.select(op, dtype, w).items()}
                      for dtype in TYPES for w in BOTH}
            row = [name, max(map(len, ratios.values()))]
            for each in (mean, min):
                row += [" / ".join(f"{each(v):.2f}" if (v := ratios[dtype, w].values()) else "-" for w in BOTH)
                        for dtype in TYPES]
            rows.append(row + [sum(value < 1 for cell in ratios.values() for value in cell.values())])
        head = ["operation", "cells", "f32", "f16", "closest f32", "closest f16", "behind cuSPARSE"]
        table("Speed-up over cuSPARSE, geometric mean, without / with weights:", head, rows)

    def speedups(self, op, graphs, unit, scale):
        """auto's time, and cuSPARSE's best / auto."""
        def text(rows):
            return f"{digits(auto(rows) * scale)} ({peer(rows) / auto(rows):.2f})"
        widths = self.widths(graphs, op)
        for dtype in TYPES if op != "spmv" else []:
            table(f"{NAMES[op]}, {unit}, {dtype}:", [""] + widths,
                  [[g] + [self.pair(g, op, dtype, n, text) for n in widths] for g in graphs])
        if op == "spmv":
            table(f"{NAMES[op]}, {unit}:", [""] + TYPES, [[g] + [self.pair(g, op, d, 1, text) for d in TYPES] for g in graphs])

    def algorithms(self, n):
        for dtype in TYPES:
            names = list(SPMM) + ["cuSPARSE"]
            texts = [lambda rows, name=name: digits(rows[name]["ms"]) for name in SPMM] + [lambda rows: digits(peer(rows))]
            table(f"SpMM by algorithm, ms, {n} columns, {dtype}:", [""] + [SPMM.get(name, name) for name in names],
                  [[g] + [self.pair(g, "spmm", dtype, n, text) for text in texts] for g in self.synthetic])

    def weights(self):
        def text(graphs, op, dtype):
            ratios = [auto(self.cells[(*key[:3], "1", key[4])]) / auto(rows)
                      for key, rows in self.select(op, dtype, "0", graphs).items()
                      if (*key[:3], "1", key[4]) in self.cells]
            return (f"{mean(ratios):.2f}" if ratios else "-") + (f", {max(ratios):.2f}" if len(ratios) > 1 else "")
        kinds = [(op, dtype) for op in NAMES for dtype in TYPES]
        groups = [(g, [g]) for g in self.synthetic] + ([("real graphs", self.real)] if self.real else [])
        table("What weights cost, mean and largest over the widths:", [""] + [f"{NAMES[op]} {dtype}" for op, dtype in kinds],
              [[name] + [text(graphs, *kind) for kind in kinds] for name, graphs in groups])

    def kernels(self):
        widths = self.widths(self.synthetic, "spmm")
        def rode(rows):
            return f"{digits(rows['rode']['ms'])} ({float(rows['rode']['tbps']):.1f})"
        for w, name in zip(BOTH, ["without", "with"]):
            table(f"RoDe {name} weights, ms (TB/s):", [""] + widths,
                  [[f"{g} {d}"] + [self.one(g, "spmm", d, w, n, rode) for n in widths]
                   for g in LARGE if g in self.synthetic for d in TYPES])
        def wide(rows):
            return f"{rows['rode-tc']['ms'] / rows['rode']['ms']:.2f}"
        for title, text in [("RoDe-TC / RoDe, f16:", wide), ("TCA, ms, f16:", lambda rows: digits(rows["tca"]["ms"]))]:
            table(title, [""] + widths,
                  [[g] + [self.pair(g, "spmm", "f16", n, text) for n in widths] for g in self.synthetic])

    def sddmm_by_spmm(self):
        widths = self.widths(self.synthetic, "sddmm")
        def ratio(graph, dtype, weighted, n):
            spmm = self.cells.get((graph, "spmm", dtype, weighted, n))
            if not spmm:
                return "-"
            return self.one(graph, "sddmm", dtype, weighted, n, lambda rows: f"{auto(rows) / auto(spmm):.2f}")
        for dtype in TYPES:
            table(f"SDDMM / SpMM, auto, {dtype}, without / with weights:", [""] + widths,
                  [[g] + [" / ".join(ratio(g, dtype, w, n) for w in BOTH) for n in widths] for g in self.synthetic])

    def slower_cells(self, percent):
        """By operation: cells by the row of the kernel that auto took, and in brackets by auto's own row."""
        def text(op, dtype):
            def count(weighted, time):
                return sum(time(rows) > (1 + percent / 100) * min(ours(rows, dtype).values())
                           for rows in self.select(op, dtype, weighted).values())
            return " / ".join(f"{count(w, chosen)} ({count(w, auto)})" for w in BOTH)
        table(f"auto is {percent:g} % slower, cells without / with weights:", ["operation", "cells"] + TYPES,
              [[NAMES[op], max(len(self.select(op, d, w)) for d in TYPES for w in BOTH)] + [text(op, d) for d in TYPES]
               for op in NAMES])
        cells = [rows for rows in self.cells.values() if not rows["auto"].get("variant")]
        print(f"Column variant is empty in {len(cells)} of {len(self.cells)} cells: auto's own row counts there.\n")

    def lists(self, percent):
        slower, behind, other, by_time, of_all_kernels = [], [], 0, 0, 0
        for key, rows in self.cells.items():
            name = f"{key[0]} {key[1]} {key[2]} {'with' if key[3] == '1' else 'without'} weights, {key[4]}"
            fastest, ms = min(ours(rows, key[2]).items(), key=lambda item: item[1])
            limit = 1 + percent / 100
            by_time += auto(rows) > limit * ms
            of_all_kernels += auto(rows) > limit * min(ms, peer(rows))
            if chosen(rows) > limit * ms:
                nearest, its = min(ours(rows, key[2]).items(), key=lambda item: abs(item[1] - chosen(rows)))
                other += nearest != fastest
                slower.append((chosen(rows) / ms, name, digits(chosen(rows) * 1e3), f"{fastest}: {digits(ms * 1e3)}",
                               f"{nearest}: {digits(its * 1e3)}"))
            if peer(rows) < auto(rows):
                behind.append((auto(rows) / peer(rows), name, digits(auto(rows) * 1e3), f"{peer(rows) * 1e3:.1f}"))
        of_all = f"{len(slower)} of {len(self.cells)} cells, in {other} of them nearest to another kernel"
        head = ["auto / it", "cell", "auto, us", "it, us"]
        for title, columns, cells in [(f"auto is {percent:g} % slower than the fastest of ours: {of_all}",
                                       head + ["nearest, us"], slower),
                                      (f"cuSPARSE is faster: {len(behind)} cells", head, behind)]:
            table(title, columns,
                  [(f"{cell[0]:.3f}", *cell[1:]) for cell in sorted(cells, reverse=True)])
        print(f"By the time of auto's own row: {by_time} cells; compared with cuSPARSE too: {of_all_kernels}.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--slower", type=float, default=3, metavar="PERCENT")
    parser.add_argument("--before", metavar="FOLDER", help="files of the release before")
    options = parser.parse_args()
    cells = load(options.folder)
    if not cells:
        parser.error(f"{options.folder} has no rows in sparse_*.csv; sparse_bench --csv writes them")
    tables = Tables(cells)
    tables.summary()
    for op in NAMES:
        for graphs, unit, scale in [(tables.synthetic, "ms", 1), (tables.real, "us", 1e3)]:
            if graphs:
                tables.speedups(op, graphs, "us" if op == "spmv" else unit, 1e3 if op == "spmv" else scale)
    if tables.synthetic:
        tables.algorithms(128)
        tables.kernels()
        tables.sddmm_by_spmm()
    tables.weights()
    tables.slower_cells(options.slower)
    tables.lists(options.slower)
    if options.before:
        before = times(options.before)
        if not before:
            parser.error(f"{options.before} has no rows in sparse_*.csv or sparse_h*.txt")
        lost(before, times(options.folder), options.slower)


if __name__ == "__main__":
    main()
