"""Types: _core.pyi has what the extension has, and everything public is annotated."""
import ast
import importlib.util
import inspect
import os
import subprocess
import sys

import pytest

import rodeo
from rodeo import _core

STUB = os.path.join(os.path.dirname(rodeo.__file__), "_core.pyi")


def parameters(function):
    """[(name, whether it has a default)]"""
    arguments = function.args
    names = [a.arg for a in arguments.posonlyargs + arguments.args]
    first_default = len(names) - len(arguments.defaults)
    return [(name, i >= first_default) for i, name in enumerate(names)]


def of_runtime(function):
    text = function.__nb_signature__[0][0].replace("\\0", "None")
    return parameters(ast.parse(text + ": ...").body[0])


def described(body):
    """{name: function, class or variable} of a stub or of a class in it."""
    return {node.target.id if isinstance(node, ast.AnnAssign) else node.name: node for node in body
            if isinstance(node, (ast.AnnAssign, ast.FunctionDef, ast.ClassDef))}


def public(names):
    return {name for name in names if not name.startswith("_") or name.startswith("__dlpack")}


def compare(stub, runtime, where):
    assert public(stub) == public(runtime), f"{where}: _core.pyi has other names"
    for name in public(stub):
        node, value = stub[name], runtime[name]
        if isinstance(node, ast.FunctionDef):
            if node.args.kwarg:
                continue
            assert parameters(node) == of_runtime(value), f"{where}.{name}: _core.pyi has other parameters"
            assert node.returns is not None and all(a.annotation or a.arg == "self" for a in node.args.args), f"{where}.{name}"
        elif isinstance(node, ast.ClassDef):
            compare(described(node.body), {n: getattr(value, n) for n in vars(value)}, name)


def test_the_stub_is_complete():
    with open(STUB, encoding="utf-8") as file:
        stub = described(ast.parse(file.read()).body)
    compare(stub, {name: getattr(_core, name) for name in dir(_core)}, "_core")


def public_functions(module):
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isclass(value):
            for member, inner in vars(value).items():
                inner = getattr(inner, "fget", None) or getattr(inner, "__func__", inner)
                if inspect.isfunction(inner) and (not member.startswith("_") or member == "__init__"):
                    yield f"{name}.{member}", inner
        elif inspect.isfunction(value):
            yield name, value


def not_annotated(module):
    for name, function in public_functions(module):
        signature = inspect.signature(function)
        names = [p.name for p in signature.parameters.values() if p.annotation is p.empty and p.name not in ("self", "cls")]
        if names or signature.return_annotation is signature.empty:
            yield f"{name}({', '.join(names)})"


def test_the_package_is_annotated():
    assert os.path.exists(os.path.join(os.path.dirname(rodeo.__file__), "py.typed"))
    assert list(not_annotated(rodeo)) == []


def test_layers_are_annotated():
    pytest.importorskip("torch", minversion="2.4")
    import rodeo.torch
    assert list(not_annotated(rodeo.torch)) + list(not_annotated(rodeo.torch.nn)) == []


PROGRAM = """
from typing import Tuple
import numpy as np
import rodeo

graph: rodeo.Graph = rodeo.Graph.from_edge_index(np.zeros((2, 3), int), num_nodes=4).to("cpu").T
edges: int = graph.num_edges
ends: Tuple[object, object] = graph.edge_index()
data: rodeo.Dataset = rodeo.Dataset.generate("cora")
labels: np.ndarray = rodeo.NodeClassifier("gcn", epochs=3).fit(np.zeros((2, 3)), None, None).predict()
version: str = rodeo.__version__
rodeo.spmm(graph, np.eye(4), reduce=1)  # error
rodeo.Graph.from_edge_index(np.zeros((2, 3)), num_nodes="four")  # error
data.num_nodes.upper()  # error
"""


def test_mypy_reads_the_types(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent",
                           "--python-version", "3.12", "program.py"], capture_output=True, text=True, cwd=tmp_path,
                          env=environment, timeout=300)
    wrong = [i for i, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# error")]
    found = [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line]
    assert found == wrong, done.stdout + done.stderr
