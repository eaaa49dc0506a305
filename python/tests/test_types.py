"""Types: _core.pyi has what the extension has, and everything public is annotated."""
import ast
import importlib.util
import inspect
import os
import re
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


TYPED_RUNS = """
from typing import Any, assert_type
import rodeo

data = rodeo.Dataset.generate("cora")
assert_type(rodeo.train(data, epochs=3), rodeo.TrainResult)
assert_type(rodeo.train(data, "gat", seeds=1, task="node"), rodeo.TrainResult)
assert_type(rodeo.train(data, task="graph", fold=2), rodeo.TrainResult)
assert_type(rodeo.train(data, seeds=10), rodeo.TrainResults)
assert_type(rodeo.train(data, splits="all"), rodeo.TrainResults)
assert_type(rodeo.train(data, task="graph"), rodeo.TrainResults)
rodeo.train(data, seeds="3")  # error
rodeo.train(data, seeds=2).best  # error
"""
TYPED_LAYERS = """
from typing import Dict, Tuple, assert_type
import torch
from torch import Tensor
import rodeo
import rodeo.torch.nn as nn

x, edges, mlp = torch.zeros(4, 3), torch.zeros((2, 5), dtype=torch.long), torch.nn.Linear(3, 3)
graph = rodeo.Graph.from_edge_index(edges, 4)
assert_type(nn.GCNConv(3, 3)(x, edges), Tensor)
assert_type(nn.SAGEConv((3, 3), 3, aggr=["mean", "std"])((x, None), graph, size=(4, 4)), Tensor)
assert_type(nn.GINConv(mlp)([x, x], graph), Tensor)
assert_type(nn.GINEConv(mlp)(x, edges, x), Tensor)
assert_type(nn.ChebConv(3, 3, K=2)(x, edges), Tensor)
assert_type(nn.RGCNConv((3, 3), 3, 2)((x, x), edges, edges[0]), Tensor)
assert_type(nn.HGTConv(3, 3, (["a"], [("a", "to", "a")]))({"a": x}, {("a", "to", "a"): edges}), Dict[str, Tensor])
assert_type(nn.PNAConv(3, 3, ["mean"], ["linear"], torch.ones(3))(x, edges), Tensor)
assert_type(nn.GATConv(3, 3)(x, edges), Tensor)
assert_type(nn.GATv2Conv(3, 3)(x, edges, return_attention_weights=True), Tuple[Tensor, Tuple[Tensor, Tensor]])
nn.GCNConv(3, 3)(x, "edges")  # error
nn.GraphConv(3, 3)(x)  # error
nn.APPNP(K=2, alpha=0.1)(x, edges).shapes  # error
"""
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def snippets(document):
    """The blocks of Python of a document, or none in a wheel."""
    try:
        with open(os.path.join(ROOT, document), encoding="utf-8") as file:
            return re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    except FileNotFoundError:
        return []


def mypy(tmp_path_factory, *programs):
    """(lines with an error, what mypy printed). Its cache is shared: NumPy's types take 10 s to read."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    folder = tmp_path_factory.mktemp("mypy")
    names = [f"program{i}.py" for i in range(len(programs))]
    for name, program in zip(names, programs):
        (folder / name).write_text(program)
    environment = {**os.environ, "MYPYPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path_factory.getbasetemp() / "cache"), "--follow-imports",
                           "silent", "--python-version", "3.12", "--strict", *names], capture_output=True, text=True, cwd=folder,
                          env=environment, timeout=300)
    return [int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line], done.stdout + done.stderr


def errors_of(program):
    return [i for i, line in enumerate(program.splitlines(), 1) if line.endswith("# error")]


def test_mypy_reads_the_types(tmp_path_factory):
    program = PROGRAM + TYPED_RUNS
    found, said = mypy(tmp_path_factory, program)
    assert found == errors_of(program), said


def test_mypy_reads_documents(tmp_path_factory):
    blocks = snippets("README.md") + snippets("python/README.md")
    if blocks:
        found, said = mypy(tmp_path_factory, *blocks)
        assert not found, said


def test_mypy_reads_the_types_of_layers(tmp_path_factory):
    """Reads the types of PyTorch, too, which takes 15 s."""
    pytest.importorskip("torch", minversion="2.4")
    found, said = mypy(tmp_path_factory, TYPED_LAYERS)
    assert found == errors_of(TYPED_LAYERS), said
