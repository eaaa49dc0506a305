#!/usr/bin/env python3
"""Times Y = A X on the CPU with SciPy, and with PyTorch where it is installed, on the graphs of HDF5 files.

    scripts/cpu_spmm.py [--widths 16,64,256] [--repeats 20] FILE.h5 ...

Prints graph, columns, library and the median in ms, to compare with `sparse_bench --device cpu --dataset FILE.h5`.
A has ones as values, f32, with 32-bit indices; X is row-major. OMP_NUM_THREADS limits PyTorch's threads.
"""
import argparse
import statistics
import time

import h5py
import numpy as np
import scipy.sparse


def median_ms(f, repeats):
    for _ in range(3):
        f()
    times = []
    flush = np.empty(64 << 20, np.uint8)  # sparse_bench flushes the caches too
    for i in range(repeats):
        flush.fill(i)
        begin = time.perf_counter()
        result = f()
        times.append(1000 * (time.perf_counter() - begin))
        del result  # freed after the clock has stopped, as in sparse_bench
    return statistics.median(times)


def load(path):
    with h5py.File(path) as file:
        src, dst = file["edge_index"][:]
        nodes = int(file["x"].shape[0]) if "x" in file else int(max(src.max(), dst.max())) + 1
    ones = np.ones(len(src), np.float32)
    return scipy.sparse.csr_matrix((ones, (dst, src)), shape=(nodes, nodes), dtype=np.float32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--widths", default="16,64,256")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    for path in options.files:
        a = load(path)
        name = path.rsplit("/", 1)[-1].removesuffix(".h5")
        for n in map(int, options.widths.split(",")):
            x = np.random.default_rng(1).random((a.shape[1], n), np.float32)
            print(f"{name:18} {n:4}  scipy   {median_ms(lambda: a @ x, options.repeats):9.3f}", flush=True)
            if torch:
                t = torch.sparse_csr_tensor(a.indptr, a.indices, a.data, a.shape, check_invariants=False)
                xt = torch.from_numpy(x)
                print(f"{name:18} {n:4}  pytorch {median_ms(lambda: t @ xt, options.repeats):9.3f}", flush=True)


if __name__ == "__main__":
    main()
