#!/usr/bin/env python3
"""Times CPU operators of a package whose kernels are for several processors (RODEO_CPU_LEVEL), beside one for this processor.

    scripts/cpu_levels.py --native build/python --levels /path/to/site-packages

Prints milliseconds of one thread's processor time: the best of --rounds new processes and of --repeat calls in each. Other programs
on the machine disturb that less than time on the clock.
"""
import argparse
import os
import subprocess
import sys

CHILD = """
import os, sys, time
import numpy as np
sys.path.insert(0, sys.argv[1])
import rodeo
repeat, random = int(sys.argv[2]), np.random.default_rng(0)
nodes, degree = 20000, 20
edges = random.integers(0, nodes, (2, nodes * degree))
graph = rodeo.Graph.from_edge_index(edges, num_nodes=nodes)
def array(*shape): return random.standard_normal(shape, dtype=np.float32)
weight, x16, x64, x256 = array(edges.shape[1]), array(nodes, 16), array(nodes, 64), array(nodes, 256)
heads, s, t = array(nodes, 8, 16), array(nodes, 8), array(nodes, 8)
cases = {
    "SpMM, 16 columns": lambda: rodeo.spmm(graph, x16, weight),
    "SpMM, 64 columns": lambda: rodeo.spmm(graph, x64, weight),
    "SpMM, 256 columns": lambda: rodeo.spmm(graph, x256, weight),
    "SpMM, maximum, 64 columns": lambda: rodeo.spmm(graph, x64, reduce="max"),
    "SDDMM, 64 columns": lambda: rodeo.sddmm(graph, x64, x64),
    "edge softmax, 8 heads": lambda: rodeo.edge_softmax(graph, edge_score),
    "GAT attention, 8 heads of 16": lambda: rodeo.gat_attention(graph, s, t, heads),
    "dot attention, 8 heads of 16": lambda: rodeo.dot_attention(graph, heads, heads, heads),
}
edge_score = array(edges.shape[1], 8)
print(rodeo.build_info()["cpu"], rodeo.build_info()["commit"], sep="|")
for name, call in cases.items():
    call()
    best = 1e9
    for _ in range(repeat):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    print(name, best * 1e3, sep="|")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--native", help="folder of a package that was built for this processor")
    parser.add_argument("--levels", required=True, help="folder of a package with kernels for several processors, as of a wheel")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    builds = [(options.native, "")] * bool(options.native) + [(options.levels, level) for level in ("v2", "v3", "v4")]
    best, commits = {}, set()
    for _ in range(options.rounds):
        for folder, level in builds:
            done = subprocess.run([sys.executable, "-c", CHILD, os.path.abspath(folder), str(options.repeat)], text=True,
                                  capture_output=True, env={**os.environ, "RODEO_CPU_LEVEL": level, "OMP_NUM_THREADS": "1"})
            if done.returncode:
                sys.exit(f"{level or folder}: {done.stderr.strip()[-500:]}")
            head, *lines = done.stdout.splitlines()
            cpu, commit = head.split("|")
            commits.add(commit)
            for line in lines:
                name, value = line.split("|")
                row = best.setdefault(name, {})
                row[cpu] = min(row.get(cpu, 1e9), float(value))
    columns = list(next(iter(best.values())))
    print("| operator, ms |", " | ".join(columns), "|\n| --- |" + " ---: |" * len(columns))
    for name, row in best.items():
        print(f"| {name} |", " | ".join(f"{row[column]:.2f}" for column in columns), "|")
    print("commits:", ", ".join(sorted(commits)))


if __name__ == "__main__":
    main()
