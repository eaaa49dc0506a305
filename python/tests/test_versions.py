"""rodeo.torch under versions of PyTorch that lack names which are not public, and under fake tensors."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch as rt  # noqa: E402
from conftest import make_edges  # noqa: E402

N, E = 12, 40
PRIVATE = ["torch._C._len_torch_dispatch_stack", "torch._C._are_functorch_transforms_active", "torch._C._is_any_autocast_enabled",
           "torch._C._is_fwd_grad_enabled", "torch._C._ExcludeDispatchKeyGuard", "torch._C._cuda_getCurrentRawStream",
           "torch.autograd.function._SingleLevelFunction", "torch.utils._python_dispatch._disable_current_modes"]

WITHOUT = '''
import importlib, sys, torch, torch.library, torch.nn, torch._dynamo
kept = []
for path in sys.argv[1].split(","):
    owner, name = path.rsplit(".", 1)
    owner = torch._C if owner == "torch._C" else importlib.import_module(owner)
    if hasattr(owner, name):
        kept.append((owner, name, getattr(owner, name)))
        delattr(owner, name)
import rodeo, rodeo.torch as rt
rodeo.spmm(rodeo.Graph.from_edge_index(torch.zeros(2, 1, dtype=torch.int64)), torch.zeros(1, 1))
for owner, name, value in kept:  # PyTorch needs them itself
    setattr(owner, name, value)

device = sys.argv[2]
edges = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 2]], device=device)
graph = rodeo.Graph.from_edge_index(edges)
dense = torch.zeros(3, 3, device=device).index_put_((edges[1], edges[0]), torch.ones(4, device=device))
x = torch.randn(3, 4, device=device, requires_grad=True)
y = rt.spmm(graph, x)
y.square().sum().backward()
torch.testing.assert_close(y, dense @ x)
torch.testing.assert_close(x.grad, dense.T @ (2 * (dense @ x)))
for _ in range(2):
    with torch.autocast(device, dtype=torch.bfloat16):
        assert rt.spmm(graph, x).dtype == torch.bfloat16 and rt.edge_softmax(graph, torch.ones(4, device=device)).dtype == torch.float32
        assert torch.mm(dense, x).dtype == torch.bfloat16  # autocast is still on
    assert rt.spmm(graph, x).dtype == torch.float32
layer = rt.nn.GATConv(4, 2).to(device)
compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(compiled(x, rodeo.Graph.from_edge_index(edges)), layer(x, graph))
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False):
    torch.testing.assert_close(rt.spmm(graph, x), y)
'''


def test_private_names_may_be_missing(device):
    path = os.path.dirname(os.path.dirname(rodeo.__file__))
    done = subprocess.run([sys.executable, "-c", WITHOUT, ",".join(PRIVATE), device], capture_output=True, text=True, timeout=600, check=False,
                          env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stderr[-3000:]


def test_private_names_are_looked_for_in_one_file():
    """A name that no file may use without a fallback: torch._C.foo, torch._foo, or an import of _foo."""
    package = pathlib.Path(rodeo.__file__).parent
    files = [*package.glob("*.py"), *package.glob("torch/*.py")]
    assert len(files) > 10
    pattern = re.compile(r"^(?!.*getattr\(torch\._C, ).*(\btorch(\.\w+)*\._|from torch\b.*\b(import|,) _)")
    uses = [f"{file.name}:{number}: {line.strip()}" for file in files if file.name != "_private.py"
            for number, line in enumerate(file.read_text().splitlines(), 1) if pattern.search(line)]
    assert not [use for use in uses if "rodeo" not in use], uses


def test_fake_tensors_of_graphs_that_nothing_has_used(device):
    """What a compiler sees of a graph is computed without tensors, and leaves the graph as it was."""
    fake_tensor = pytest.importorskip("torch._subclasses.fake_tensor")
    for nodes, sources in (N, N), (N, N + 4), (N + 4, N):
        edges = torch.tensor(make_edges(nodes, E, sources=sources), device=device)
        graph = rodeo.Graph.from_edge_index(edges, nodes, num_sources=sources)
        with fake_tensor.FakeTensorMode() as mode:
            x, scores = mode.from_tensor(torch.zeros(0, device=device)).new_empty((sources, 1, 3)), None
            scores = x.new_empty((nodes, 1)), x.new_empty((sources, 1))
            added = torch.ops.rodeo.sddmm(graph._id, True, *scores, "add")
            assert torch.ops.rodeo.gat_attention(graph._id, True, *scores, x, 0.2, 0.0, None)[0].shape == (nodes, 1, 3)
            features = torch.ops.rodeo.with_loop_features(graph._id, False, x.new_empty((E, 3)), None, "mean")
        scores = torch.zeros(nodes, 1, device=device), torch.zeros(sources, 1, device=device)
        real = torch.ops.rodeo.sddmm(graph._id, True, *scores, "add")
        assert added.shape == real.shape and features.shape == (real.shape[0], 3)
        loops = int((edges[0] == edges[1]).sum())
        assert real.shape[0] == E - loops + min(nodes, sources) and loops > 0
        assert not isinstance(real, fake_tensor.FakeTensor) and real.isfinite().all()


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_attention_weights_of_compiled_layers(name, device):
    layer = getattr(rt.nn, name)(6, 4, heads=2).to(device)
    x, edges = torch.randn(N, 6, device=device), torch.tensor(make_edges(N, E), device=device)
    compiled = torch.compile(lambda x, graph: layer(x, graph, return_attention_weights=True), fullgraph=True, backend="aot_eager")
    for _ in range(2):
        graph = rodeo.Graph.from_edge_index(edges, N)
        y, (ends, weight) = compiled(x, graph)
        expected_y, (expected_ends, expected_weight) = layer(x, graph, return_attention_weights=True)
        torch.testing.assert_close(y, expected_y)
        torch.testing.assert_close(weight, expected_weight)
        assert torch.equal(ends, expected_ends) and ends.dtype == torch.int64 and ends.is_contiguous()
