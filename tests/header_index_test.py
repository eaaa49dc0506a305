#!/usr/bin/env python3
"""Proves that docs/check_contracts.py finds each mistake in the index of headers: header_index_test.py ROOT"""
import sys

sys.path.insert(0, f"{sys.argv[1]}/docs")
from check_contracts import index_faults  # noqa: E402

HEADERS = ["core/tensor.h", "ops/spmm.h"]
TENSOR, SPMM = "| `core/tensor.h` | `Tensor` |\n", "| `ops/spmm.h` | sparse times dense |\n"
CASES = [
    (TENSOR + SPMM, []),
    (TENSOR, ["ops/spmm.h: is public and has no line in docs/headers.md"]),
    (TENSOR + "`ops/spmm.h` in a sentence\n", ["ops/spmm.h: is public and has no line in docs/headers.md"]),
    (TENSOR + SPMM + "| `ops/gone.h` | nothing |\n", ["docs/headers.md: lists ops/gone.h, which is no public header"]),
    (TENSOR + SPMM + SPMM, ["docs/headers.md: lists ops/spmm.h twice"]),
]

failed = 0
for index, want in CASES:
    got = list(index_faults(index, HEADERS))
    if got != want:
        failed += 1
        print(f"{index}expected {want}, got {got}")
print(f"{len(CASES) - failed} of {len(CASES)} cases")
sys.exit(1 if failed else 0)
