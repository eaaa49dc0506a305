#!/usr/bin/env python3
"""Proves that tests/rules_test.py finds what it is for: a correct tree passes, and each violation is the only one found."""
import os
import sys
import tempfile

import rules_test

# A tree that breaks no rule, and uses every exception.
GOOD = {
    "core/tensor.h": "#pragma once\n#include <vector>\n",
    "models/rows.h": '#pragma once\n#include "core/tensor.h"\nstd::vector<int> rows();\n',
    "core/file.cpp": '#include <cstring>\nconst bool done = ::rename(a, b) == 0;\ncheck(done, "why: ", std::strerror(errno));\n',
    "core/rows.cpp": "// Rows of the matrix.\n// As many of them\nint x;  // of columns\n",
    "core/tensor.cpp": '#include "core/tensor.h"\n\n#include "core/host/loops.h"\n',
    "core/host/loops.h": "#pragma once\n",
    "core/cuda/launch.cuh": "#pragma once\n#include <cuda_runtime.h>\n",
    "ops/spmm.h": '#pragma once\n#include "core/tensor.h"\n',
    "ops/spmm.cpp": '#include "ops/spmm.h"\n\n#include "core/host/loops.h"\n#include "ops/kernels/sparse.h"\n',
    "ops/kernels/sparse.h": '#pragma once\n#include "ops/plan/rode_plan.h"\n',
    "ops/plan/rode_plan.h": "#pragma once\n",
    "ops/cpu/spmm.cpp": '#include <cblas.h>\n\n#include "ops/kernels/sparse.h"\n',
    "ops/cuda/rode/rows.cuh": '#pragma once\n#include "core/cuda/launch.cuh"\n',
    "ops/cuda/spmm/spmm.cu": '#include "ops/cuda/rode/rows.cuh"\n#include "ops/kernels/sparse.h"\n',
    "ops/cuda/sddmm/sddmm.cu": '#include "ops/cuda/rode/rows.cuh"\n',
    "layers/gcn_conv.h": '#pragma once\n#include "ops/spmm.h"\n',
    "models/gcn.h": '#pragma once\n#include "layers/gcn_conv.h"\n',
    "datasets/dataset.h": '#pragma once\n#include "core/tensor.h"\n',
    "datasets/hdf5/reader.cpp": '#include <hdf5.h>\n\n#include "datasets/dataset.h"\n',
    "train/task/task.h": '#pragma once\n#include "datasets/dataset.h"\n#include "models/gcn.h"\n',
    "train/commands/main.cpp": '#include <cxxopts.hpp>\n\n#include "train/task/task.h"\n',
    "bench/rode_bench.cpp": '#include "bench/table.h"\n#include "ops/plan/rode_plan.h"\n',
    "bench/table.h": "#pragma once\n",
    "tests/ops/plan_test.cpp": '#include "ops/plan/rode_plan.h"\n#include "train/task/task.h"\n',
    "examples/loop/main.cpp": '#include "rodeo/ops/spmm.h"\n',
}

# The rule, the file in which it is reported, and the files that break it.
VIOLATIONS = [
    ("layers", "core/upward.cpp", {"core/upward.cpp": '#include "ops/spmm.h"\n'}),
    ("layers", "datasets/sideways.cpp", {"datasets/sideways.cpp": '#include "models/gcn.h"\n'}),
    ("layers", "models/above.cpp", {"models/above.cpp": '#include "train/trainer.h"\n'}),
    ("private room", "layers/kernel.cpp", {"layers/kernel.cpp": '#include "ops/kernels/sparse.h"\n'}),
    ("private room", "train/plan.cpp", {"train/plan.cpp": '#include "ops/plan/rode_plan.h"\n'}),
    ("private room", "datasets/runtime.cpp", {"datasets/runtime.cpp": '#include "core/cuda/check.h"\n'}),
    ("private room", "ops/cpu/runtime.cpp", {"ops/cpu/runtime.cpp": '#include "core/cuda/check.h"\n'}),
    ("private room", "ops/backend.cpp", {"ops/backend.cpp": '#include "ops/cuda/rode/rows.h"\n'}),
    ("private room", "ops/cuda/spmm/hopper.cu", {"ops/cuda/spmm/hopper.cu": '#include "ops/cuda/gemm/hopper/wgmma.cuh"\n'}),
    ("public header", "ops/leak.h", {"ops/leak.h": '#pragma once\n#include "ops/plan/rode_plan.h"\n'}),
    ("room order", "ops/plan/pure.cpp", {"ops/plan/pure.cpp": '#include "ops/kernels/sparse.h"\n'}),
    ("room order", "ops/cuda/rode/up.cu", {"ops/cuda/rode/up.cu": '#include "ops/cuda/spmm/gather.cuh"\n'}),
    ("room order", "ops/cuda/sddmm/beside.cu", {"ops/cuda/sddmm/beside.cu": '#include "ops/cuda/spmv/terms.cuh"\n'}),
    ("room order", "train/task/up.cpp", {"train/task/up.cpp": '#include "train/commands/console.h"\n'}),
    ("room order", "datasets/import/up.cpp", {"datasets/import/up.cpp": '#include "datasets/commands/command_line.h"\n'}),
    ("unknown room", "ops/attic/a.cpp", {"ops/attic/a.cpp": "int x;\n"}),
    ("libraries", "ops/cuda_header.h", {"ops/cuda_header.h": "#pragma once\n#include <cuda_runtime.h>\n"}),
    ("libraries", "datasets/hdf5_header.h", {"datasets/hdf5_header.h": "#pragma once\n#include <hdf5.h>\n"}),
    ("libraries", "core/ranks.cpp", {"core/ranks.cpp": "#include <mpi.h>\n"}),
    ("libraries", "train/task/options.cpp", {"train/task/options.cpp": "#include <cxxopts.hpp>\n"}),
    ("device code", "ops/cpu/device.cpp", {"ops/cpu/device.cpp": '#include "ops/device.cuh"\n'}),
    ("examples", "examples/loop/own.cpp", {"examples/loop/own.cpp": '#include "ops/spmm.h"\n'}),
    ("length", "bench/long.cpp", {"bench/long.cpp": "int x;\n" * 401}),
    ("clang", "ops/views.cpp", {"ops/views.cpp": "#include <ranges>\nauto x = std::views::iota(0);\n"}),
    ("errno", "core/file.cpp", {"core/file.cpp": '#include <cstring>\ncheck(::rename(a, b) == 0,\n      "why: ", std::strerror(errno));\n'}),
    ("comment", "ops/rows.cpp", {"ops/rows.cpp": "int x;\n\n/// Of rows.\nint y;\n"}),
    ("comment", "ops/rows.cpp", {"ops/rows.cpp": "int x;  // The same of rows\n"}),
    ("pragma once", "ops/guardless.h", {"ops/guardless.h": "int x;\n"}),
    ("pragma once", "tests/guardless.h", {"tests/guardless.h": "int x;\n"}),
    ("test suite", "tests/ops/a_test.cpp", {"tests/ops/a_test.cpp": "TEST(Softplus, Zero) {}\n"}),
    ("standard header", "models/rows.cpp", {"models/rows.cpp": "// std::any\nstd::vector<int> x;\n"}),
    ("standard header", "ops/list.h", {"ops/list.h": "#pragma once\n#include <span>\nstd::function<void()> f(std::span<int> x);\n"}),
    ("blanks", "models/blank.cpp", {"models/blank.cpp": "int x; \n"}),
    ("blanks", "models/tab.cpp", {"models/tab.cpp": "\tint x;\n"}),
    ("length", "models/long.cpp", {"models/long.cpp": "int x;\n" * 401}),
    # Two modules whose files have no cycle: a.cpp -> b.h -> c.h, c.cpp -> a.h.
    ("module cycle", "ops/a", {"ops/a.h": "#pragma once\n", "ops/a.cpp": '#include "ops/b.h"\n',
                               "ops/b.h": "#pragma once\n", "ops/b.cpp": '#include "ops/a.h"\n'}),
    # A device header and its kernels are one module.
    ("module cycle", "ops/cuda/spmm/a", {"ops/cuda/spmm/a.cuh": "#pragma once\n",
                                         "ops/cuda/spmm/a.cu": '#include "ops/cuda/spmm/b.cuh"\n',
                                         "ops/cuda/spmm/b.cuh": '#pragma once\n#include "ops/cuda/spmm/a.cuh"\n'}),
    ("file cycle", "ops/itself.h", {"ops/itself.h": '#pragma once\n#include "ops/itself.h"\n'}),
]


def found_in(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return [(rule, path) for path, rule, _ in rules_test.check_tree(root)]


def main():
    failures = [f"a correct tree breaks: {found}" for found in found_in(GOOD)]
    for rule, path, files in VIOLATIONS:
        found = found_in({**GOOD, **files})
        if found != [(rule, path)]:
            failures.append(f"expected '{rule}' in {path} alone, found {found}")
    print("\n".join(failures) or f"{len(VIOLATIONS)} violations found")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
