#!/usr/bin/env python3
"""Checks the rules of the source tree: who may include whom, include cycles, missing standard headers, the form and length of a file.

    tests/rules_test.py ROOT

Prints one line for each broken rule, and exits with 1 if there is one. tests/rules_catch_test.py breaks each rule once.
A layer is a top-level folder, a room is any folder with sources, and a module is a header with the
sources beside it that have its name.
"""
import collections
import os
import re
import sys

# What each layer may include besides itself.
LAYERS = {
    "core": [],
    "ops": ["core"],
    "layers": ["core", "ops"],
    "models": ["core", "ops", "layers"],
    "datasets": ["core", "ops"],
    "train": ["core", "ops", "layers", "models", "datasets"],
}

# The rooms, and what each may include of its own layer besides itself. A room in front of another one is the lower one.
# A folder that is missing here breaks a rule, so that its place is decided when it is made.
ROOMS = {
    # core: public headers and host code; three rooms that implement parts of it.
    "core": ["core/host", "core/cuda", "core/comm"],
    "core/host": ["core"],  # what depends on the operating system, and loops over elements
    "core/cuda": ["core"],  # the CUDA runtime and libraries
    "core/comm": ["core", "core/cuda"],  # backends of Communicator; NCCL's needs streams, waits and a kernel
    # ops: public headers with their checks and gradients; rooms from the signatures of kernels to the kernels.
    "ops": ["ops/plan", "ops/kernels", "ops/sparse"],
    "ops/plan": ["ops"],  # pure host functions: knows no kernel, no backend
    "ops/kernels": ["ops", "ops/plan"],  # the signatures of kernels
    "ops/sparse": ["ops", "ops/plan", "ops/kernels"],  # runs kernels, keeps plans on a graph and choices in a file
    "ops/cpu": ["ops", "ops/plan", "ops/kernels", "ops/sparse"],
    # ops/cuda: device <- rode <- spmm <- the other families, which do not know each other.
    "ops/cuda/device": ["ops", "ops/plan", "ops/kernels"],
    "ops/cuda/rode": ["ops", "ops/plan", "ops/kernels", "ops/cuda/device"],
    "ops/cuda/spmm": ["ops", "ops/plan", "ops/kernels", "ops/sparse", "ops/cuda/device", "ops/cuda/rode"],
    **{f"ops/cuda/{family}": ["ops", "ops/plan", "ops/kernels", "ops/sparse", "ops/cuda/device", "ops/cuda/rode",
                              "ops/cuda/spmm"]
       for family in ["sddmm", "spmv", "attention", "gemm", "dense", "graph"]},
    "ops/cuda/gemm/hopper": ["ops", "ops/plan", "ops/kernels", "ops/cuda/device", "ops/cuda/gemm"],
    "layers": [],
    "models": [],
    "datasets": ["datasets/hdf5", "datasets/import"],
    "datasets/hdf5": ["datasets"],
    "datasets/import": ["datasets"],
    "datasets/commands": ["datasets", "datasets/hdf5", "datasets/import"],
    # train: the loop; one task; its files; the page about it; the commands.
    "train": ["train/task", "train/io"],
    "train/task": ["train"],
    "train/io": ["train", "train/task"],
    "train/report": ["train", "train/task", "train/io"],
    "train/commands": ["train", "train/task", "train/io", "train/report"],
}

# A subfolder is private to the folder that holds it. Exceptions: room, who else may include it, why.
SHARED = [
    ("core/cuda", r"ops/cuda/", "CUDA kernels use the runtime's checks, launches and libraries"),
    ("core/host", r"(train|datasets)/commands/", "commands fit their output to the terminal"),
    ("core/host", r"ops/(cpu/|[^/]*\.cpp$)", "operators on the CPU use the loops over elements of Tensor's own functions"),
]

# Headers of other libraries, by pattern, and the only folders that may include them.
LIBRARIES = [
    (r"(cuda|cublas|cusparse|cudnn)\w*\.h", ["core/cuda", "ops/cuda"]),
    (r"hdf5\.h", ["datasets/hdf5"]),
    (r"mpi\.h", ["core/comm"]),
    (r"cblas\.h", ["ops/cpu"]),
    (r"cxxopts\.hpp", ["datasets/commands", "train/commands"]),
]

# Names of the standard library and their headers. Precompiled headers hide it where an #include is missing.
STANDARD = {header: re.compile(rf"\bstd::(?:{names})\b") for header, names in {
    "algorithm": r"ranges::(?:sort|find|copy|fill|min|max|transform|equal|any_of|all_of|none_of|count|reverse|lower_bound|upper_bound)"
                 r"|sort|stable_sort|nth_element|partial_sort|lower_bound|upper_bound|any_of|all_of|none_of|copy_n|fill_n|transform"
                 r"|min_element|max_element|clamp|unique|remove_if|find_if|count_if|equal_range|is_sorted",
    "any": "any|any_cast",
    "array": "array",
    "atomic": r"atomic\w*",
    "bit": "bit_cast|popcount|bit_width|bit_ceil|countr_zero",
    "charconv": "from_chars|to_chars",
    "chrono": r"chrono::\w+",
    "cmath": "sqrt|exp|log|pow|isnan|isfinite|isinf|nanf|fabs|ceil|floor|lround|tanh",
    "condition_variable": "condition_variable",
    "cstdint": "u?int(?:8|16|32|64)_t",
    "cstring": "mem(?:cpy|set|cmp|move)|strlen|strerror",
    "deque": "deque",
    "filesystem": r"filesystem::\w+",
    "fstream": "[io]?fstream",
    "functional": "function",
    "future": "future|async|promise",
    "iostream": "cout|cerr|clog",
    "limits": "numeric_limits",
    "map": "map",
    "memory": "(?:unique|shared|weak)_ptr|make_(?:unique|shared)",
    "mutex": "mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once",
    "numeric": "accumulate|iota|reduce|partial_sum|exclusive_scan|inclusive_scan",
    "optional": "optional|nullopt",
    "set": "set",
    "span": "span",
    "sstream": "[io]?stringstream",
    "string": "string|to_string|getline",
    "string_view": "string_view",
    "thread": "thread|this_thread",
    "tuple": "tuple|tie|make_tuple",
    "typeindex": "type_index",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "variant": "variant",
    "vector": "vector",
}.items()}

MAX_LINES = 400
SOURCES = (".h", ".cuh", ".cpp", ".cu")
TEST_SUITE = re.compile(r"^TEST(?:_[PF])?\((\w+)", re.MULTILINE)
SUITES = tuple(layer.capitalize() for layer in [*LAYERS, "bench"])  # ctest selects suites by these prefixes
CLANG_REFUSES = re.compile(r"\bstd::(?:views::\w+|ranges::unique)\b")
LEANING = re.compile(r"^(?! *//).*\n *//+ (?:Of|The same|As|Th(?:at|ose) of)\b|^(?! *//).*[^:]// (?:Of|The same|As|Th(?:at|ose) of)\b", re.MULTILINE)
# Arguments are evaluated in any order, and GCC reads errno before it makes the call.
STALE_ERRNO = re.compile(r"\bcheck\(\s*::[^;]*(?:errno\)|\breason\(\))")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def read_tree(root):
    """{path: text} of all sources, paths relative to the root."""
    texts = {}
    for top in [*LAYERS, "bench", "tests", "examples"]:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith(SOURCES):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        texts[os.path.relpath(path, root)] = file.read()
    return dict(sorted(texts.items()))


def layer_of(path):
    return path.split("/")[0]


def is_header(path):
    return path.endswith((".h", ".cuh"))


def is_public(path):
    return layer_of(path) in LAYERS and path.count("/") == 1 and path.endswith(".h")


def may_see_private(path, header):
    """Whether the folder that holds the header's room holds the file too."""
    room = os.path.dirname(header)
    return "/" not in room or (os.path.dirname(path) + "/").startswith(os.path.dirname(room) + "/")


def form_of_a_file(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield "length", f"{lines} lines, more than {MAX_LINES}"
    if re.search(r"\t| \n", text):
        yield "blanks", "a tab, or blanks at the end of a line"
    if found := CLANG_REFUSES.search(re.sub(r"//.*", "", text)):
        yield "clang", f"{found[0]}: Clang 14, by which scripts/tsan.sh and clang-tidy read sources, cannot compile that of GCC 12"
    if STALE_ERRNO.search(text):
        yield "errno", "a system call and the text of its errno are arguments of one check()"
    if found := LEANING.search(text):
        yield "comment", f"a comment that leans on what stands before it:{found[0].split('//')[-1].strip('/')}"
    if is_header(path) and "#pragma once" not in text:
        yield "pragma once", "a header without #pragma once"
    if path.endswith("_test.cpp"):
        for suite in sorted(set(TEST_SUITE.findall(text))):
            if not suite.startswith(SUITES):
                yield "test suite", f"ctest does not run {suite}: its name must begin with that of its folder, as OpsSpmm"


def rules_of_an_include(path, header):
    """What the include of one of our headers breaks."""
    layer, room, target = layer_of(path), os.path.dirname(path), os.path.dirname(header)
    if header.endswith(".cuh") and not path.endswith((".cuh", ".cu")):
        yield "device code", f"only device code may include {header}"
    if layer == "examples":
        yield "examples", f"an example reads the installed headers: rodeo/{header}"
    if layer not in LAYERS:
        return
    if layer_of(header) != layer and layer_of(header) not in LAYERS[layer]:
        yield "layers", f"{layer} may not include {layer_of(header)}: {header}"
    elif is_public(path) and not is_public(header):
        yield "public header", f"a public header may not include a private one: {header}"
    elif not may_see_private(path, header):
        if not any(target == shared and re.match(who, path) for shared, who, _ in SHARED):
            yield "private room", f"{target} is private to {os.path.dirname(target)}: {header}"
    elif layer_of(header) == layer and target != room and room in ROOMS and target not in ROOMS[room]:
        yield "room order", f"{room} may not include {target}: {header}"


def rules_of_a_library(path, header):
    for pattern, folders in LIBRARIES:
        if re.fullmatch(pattern, header) and not any(path.startswith(folder + "/") for folder in folders):
            yield "libraries", f"only {' and '.join(folders)} may include <{header}>"


def standard_names(path, texts, includes):
    """Names of the standard library whose header neither the file nor one of our headers that it includes has."""
    headers, seen, queue = set(), set(), [path]
    while queue:
        file = queue.pop()
        if file not in seen:
            seen.add(file)
            headers.update(header for mark, header in INCLUDE.findall(texts[file]) if mark == "<")
            queue += includes[file]
    code = re.sub(r"//.*", "", texts[path])
    for header, names in STANDARD.items():
        found = names.search(code)
        if found and header not in headers:
            yield "standard header", f"{found[0]} needs #include <{header}>"


def module_of(path):
    return os.path.splitext(path)[0]


def find_cycles(graph):
    """One shortest cycle for each strongly connected part of {node: set of nodes}."""
    cycles, seen = [], set()
    for start in sorted(graph):
        if start in seen:
            continue
        came_from, queue = {}, collections.deque([start])
        while queue and start not in came_from:
            node = queue.popleft()
            for after in sorted(graph.get(node, ())):
                if after not in came_from:
                    came_from[after] = node
                    queue.append(after)
        if start in came_from:
            cycle = [start]
            while came_from[cycle[-1]] != start:
                cycle.append(came_from[cycle[-1]])
            cycle.append(start)
            cycles.append(cycle[::-1])
            seen.update(cycle)
    return cycles


def check_cycles(includes):
    graphs = {"file cycle": collections.defaultdict(set), "module cycle": collections.defaultdict(set)}
    for path, headers in includes.items():
        if layer_of(path) not in LAYERS:
            continue
        module = module_of(path)
        for header in headers:
            graphs["file cycle"][path].add(header)
            if module_of(header) != module:
                graphs["module cycle"][module].add(module_of(header))
    for rule, graph in graphs.items():
        for cycle in find_cycles(graph):
            yield cycle[0], rule, "include each other: " + " -> ".join(cycle)


def check_tree(root):
    """[(file, rule, sentence)] of what is broken."""
    texts = read_tree(root)
    broken, includes = [], {}
    for path, text in texts.items():
        found = list(form_of_a_file(path, text))
        room = os.path.dirname(path)
        if layer_of(path) in LAYERS and room not in ROOMS:
            found.append(("unknown room", f"{room} is not in ROOMS of tests/rules_test.py"))
        quoted = {header for mark, header in INCLUDE.findall(text) if mark == '"' and layer_of(header) in LAYERS}
        for header in sorted(quoted):
            found += rules_of_an_include(path, header)
        if layer_of(path) in LAYERS:
            for _, header in INCLUDE.findall(text):
                found += rules_of_a_library(path, header)
        includes[path] = quoted & texts.keys()
        broken += [(path, rule, sentence) for rule, sentence in found]
    for path in texts:
        if layer_of(path) in LAYERS:
            broken += [(path, rule, sentence) for rule, sentence in standard_names(path, texts, includes)]
    return broken + list(check_cycles(includes))


if __name__ == "__main__":
    result = check_tree(sys.argv[1])
    for file, rule, sentence in result:
        print(f"{file}: {rule}: {sentence}")
    print(f"{len(result)} broken rules")
    sys.exit(1 if result else 0)
