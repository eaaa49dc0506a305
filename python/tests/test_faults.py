"""Faulty arguments: freed memory, arrays that lie or raise, sizes of zero, exceptions in callbacks and allocators."""
import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rodeo
from conftest import make_edges
from test_train import small

N, E = 12, 40


class Lying:
    """An array whose __dlpack__ does what the test says."""

    def __init__(self, answer):
        self.answer = answer
        self.shape = (N, 3)

    def __dlpack__(self, **_):
        return self.answer()

    def __dlpack_device__(self):
        return 1, 0


def raising():
    raise OSError("from __dlpack__")


USED = []


def used_capsule():
    if not USED:
        USED.append(np.zeros((N, 3), "float32").__dlpack__())
        np.from_dlpack(Lying(lambda: USED[0]))  # takes the memory out of the capsule
    return USED[0]


@pytest.mark.parametrize("answer", [raising, used_capsule, lambda: None, lambda: 7])
def test_arrays_whose_dlpack_fails(answer):
    graph = rodeo.Graph.from_edge_index(make_edges(N, E), N)
    with pytest.raises((ValueError, TypeError, OSError, BufferError)):
        rodeo.spmm(graph, Lying(answer))
    assert rodeo.spmm(graph, np.ones((N, 2))).sum() == 2 * E


def test_dlpack_memory_lives_as_long_as_the_graph():
    """A graph borrows sorted CSR arrays: they may be freed by their owner."""
    indptr, indices = np.arange(0, 1001, 10), np.tile(np.arange(10, dtype="int32"), 100)
    expected = indices.copy()
    graph = rodeo.Graph.from_csr(indptr, indices)
    del indptr, indices
    gc.collect()
    noise = [np.full(1000, 10**9, "int32") for _ in range(200)]
    np.testing.assert_array_equal(graph.indices, expected)
    assert rodeo.spmm(graph, np.ones((100, 1))).sum() == 1000 and noise


def test_views_of_freed_arrays():
    """A view keeps its base; a closed memory map is not readable any more, which NumPy refuses to do while views live."""
    graph = rodeo.Graph.from_edge_index(make_edges(N, E), N)
    base = np.ones((2, N, 3), "float32")
    view = base[1]
    del base
    gc.collect()
    assert rodeo.spmm(graph, view).sum() == 3 * E


@pytest.mark.parametrize("nodes, edges, columns", [(0, 0, 3), (4, 0, 3), (4, 0, 0), (4, 5, 0), (1, 1, 1)])
def test_sizes_of_zero(nodes, edges, columns, device):
    import torch
    import rodeo.torch as rt
    ends = torch.zeros(2, edges, dtype=torch.int64, device=device)
    graph = rodeo.Graph.from_edge_index(ends, nodes)
    x = torch.ones(nodes, columns, device=device, requires_grad=True)
    weight = torch.ones(edges, device=device, requires_grad=True)
    for reduce in "sum", "mean", "max":
        y = rt.spmm(graph, x, weight, reduce=reduce)
        assert y.shape == (nodes, columns)
        y.sum().backward()
    s = rt.sddmm(graph, x, x)
    assert s.shape == rt.edge_softmax(graph, s).shape == (edges,) and rt.edge_sum(graph, s).shape == (nodes,)
    heads = x.view(nodes, 1, columns)
    if columns:
        rt.gat_attention(graph, x[:, :1], x[:, :1], heads).sum().backward()
    assert x.grad.shape == x.shape and weight.grad.shape == weight.shape
    assert graph.T.num_edges == edges and graph.with_self_loops().num_edges >= edges


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv", "SAGEConv"])
@pytest.mark.parametrize("nodes", [0, 3])
def test_layers_without_edges(name, nodes, device):
    import torch
    import rodeo.torch.nn
    layer = getattr(rodeo.torch.nn, name)(4, 2).to(device)
    x = torch.ones(nodes, 4, device=device, requires_grad=True)
    y = layer(x, torch.zeros(2, 0, dtype=torch.int64, device=device))
    assert y.shape == (nodes, 2)
    y.sum().backward()
    assert x.grad.shape == x.shape


class CudaArray:
    """An array as CuPy and Numba have it: __cuda_array_interface__ alone."""

    def __init__(self, tensor, **changes):
        self.tensor, self.shape = tensor, tuple(tensor.shape)
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, **changes}


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_arrays_with_the_cuda_interface(device):
    import torch
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    for dtype in torch.float32, torch.float64, torch.float16:
        x = torch.randn(N, 3, device=device, dtype=dtype)
        y = torch.from_dlpack(rodeo.spmm(graph, CudaArray(x)))
        assert y.dtype == dtype and torch.equal(y, rodeo.spmm(graph, x))
    x = torch.randn(N, 3, device=device)
    out = torch.empty_like(x)
    rodeo.spmm(graph, x, out=CudaArray(out))
    assert torch.equal(out, rodeo.spmm(graph, x))
    for changes, text in [({"strides": (4, 4 * N)}, "contiguous"), ({"typestr": "<c8"}, "float64"), ({"data": (0, False)}, "memory"),
                          ({"shape": (N, 1, 1, 1, 3)}, "dimensions"), ({"shape": (3, N)}, r"\[12, n\]")]:
        with pytest.raises(ValueError, match=text):
            rodeo.spmm(graph, CudaArray(x, **changes))
    cpu = rodeo.Graph.from_edge_index(make_edges(N, E), N)
    with pytest.raises(ValueError, match="cuda"):
        rodeo.spmm(cpu, CudaArray(x))


def test_tensors_whose_storage_was_freed(device):
    import torch
    import rodeo.torch as rt
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    freed = torch.ones(N, 3, device=device)
    freed.untyped_storage().resize_(0)
    for call, name in [(lambda: rodeo.spmm(graph, freed), "x"), (lambda: rt.spmm(graph, freed), "x"),
                       (lambda: rodeo.spmm(graph, torch.ones(N, 3, device=device), out=freed), "out")]:
        with pytest.raises(ValueError, match=rf"\[spmm\] {name} \[12, 3\] has no memory: its storage was freed"):
            call()
    ends = torch.tensor(make_edges(N, E), device=device)
    ends.untyped_storage().resize_(0)
    with pytest.raises((ValueError, RuntimeError)):
        rodeo.Graph.from_edge_index(ends, N)
    view = torch.ones(4 * N, 3, device=device)[N:2 * N]  # not at the storage's begin
    assert rodeo.spmm(graph, view).sum() == 3 * E


def test_inputs_freed_before_backward(device):
    import torch
    import rodeo.torch as rt
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    x = torch.ones(N, 3, device=device, requires_grad=True)
    y = rt.spmm(graph, x * 2, torch.ones(E, device=device, requires_grad=True), reduce="max")
    del graph  # backward keeps what it needs
    gc.collect()
    y.sum().backward()
    assert x.grad.isfinite().all()
    again = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    weight = torch.ones(E, device=device, requires_grad=True)
    z = rt.spmm(again, x, weight)
    with torch.no_grad():
        x += 1  # in place: PyTorch refuses the backward pass
    with pytest.raises(RuntimeError, match="inplace|in-place"):
        z.sum().backward()


def test_exceptions_of_hooks_and_subclasses_pass_through(device):
    import torch
    import rodeo.torch as rt
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)

    def fail(_):
        raise KeyError("hook")

    x = torch.ones(N, 3, device=device, requires_grad=True)
    y = rt.spmm(graph, x)
    y.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        y.sum().backward()

    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            if getattr(function, "__name__", "") in ("new_empty", "empty_like", "data_ptr"):
                raise KeyError("subclass")
            return super().__torch_function__(function, types, args, kwargs or {})

    refusing = torch.ones(N, 3, device=device).as_subclass(Refusing)
    for _ in range(3):
        try:
            rodeo.spmm(graph, refusing)
        except KeyError as error:
            assert "subclass" in str(error)
    assert rodeo.spmm(graph, torch.ones(N, 3, device=device)).sum() == 3 * E


@pytest.mark.parametrize("error", [KeyError, SystemExit, KeyboardInterrupt, MemoryError, GeneratorExit])
def test_callbacks_raise_anything(error):
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)

    def callback(epoch):
        if epoch["epoch"] == 2:
            raise error("from the callback")

    with pytest.raises(error, match="from the callback"):
        rodeo.train(dataset, epochs=1000000, device="cpu", callback=callback)


def test_callbacks_train_and_compute():
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    graph = rodeo.Graph.from_edge_index(edges, 60)
    inner = []

    def callback(epoch):
        rodeo.spmm(graph, x)
        if epoch["epoch"] == 2:
            inner.append(rodeo.train(dataset, epochs=3, device="cpu").logits)

    outer = rodeo.train(dataset, epochs=5, device="cpu", callback=callback)
    np.testing.assert_array_equal(inner[0], rodeo.train(dataset, epochs=3, device="cpu").logits)
    np.testing.assert_array_equal(outer.logits, rodeo.train(dataset, epochs=5, device="cpu").logits)


def test_threads_train_at_once():
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    expected = rodeo.train(dataset, epochs=5, device="cpu", threads=1).logits
    results, errors = [], []

    def work(seed):
        try:
            results.append((seed, rodeo.train(dataset, epochs=5, seed=seed, device="cpu", threads=1).logits))
            with pytest.raises(KeyError):
                rodeo.train(dataset, epochs=100, device="cpu", threads=1, callback=lambda epoch: {}["none"])
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (0, 1, 0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(results) == 3
    for seed, logits in results:
        assert (logits == expected).all() == (seed == 0)


def test_the_interpreter_ends_while_objects_live():
    program = ("import numpy as np, rodeo\n"
               "g = rodeo.Graph.from_edge_index(np.zeros((2, 3), int), 2)\n"
               "y = rodeo.spmm(g.T, np.ones((2, 2)))\n"
               "d = rodeo.Dataset.generate('cora').arrays()\n"
               "import sys; sys.kept = [g, y, d, g.T]\n"
               "class Late:\n"
               "    def __del__(self): rodeo.spmm(g, np.ones((2, 2)))\n"
               "late = Late()\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    assert done.returncode == 0, done.stderr


def test_operators_on_edges_never_crash(device):
    import random
    import torch
    import rodeo.torch  # noqa: F401
    pick = random.Random(5)
    good = torch.tensor(make_edges(N, E), device=device)
    edges = [good, good[:, :7], good.int(), good.float(), good[0], good.T, torch.zeros(3, 4, dtype=torch.int64, device=device),
             good + N, -good - 1, good[:, ::2], good[:, :0]]
    things = [None, 2, "sum", "max", 0.5, True, *(torch.zeros(s, device=device) for s in (0, (N,), (N, 4), (N, 2, 2), (E,), (E + N,),
              (E + N, 2), (E, 3), (1, 2, 2))), torch.zeros(E + N, dtype=torch.float16, device=device), torch.eye(N, device=device)[:, ::3]]
    names = [name for name in dir(torch.ops.rodeo) if name.endswith("_on_edges")] or [
        f"{name}_on_edges" for name in ("spmm", "sddmm", "edge_softmax", "edge_sum", "permute", "gcn", "gat_attention",
                                        "with_loop_features", "spmm_gradients")]
    for _ in range(1500):
        operator = getattr(torch.ops.rodeo, pick.choice(names))
        schema = operator.default._schema.arguments
        arguments = [pick.choice(edges), pick.choice([N, N, N, N + 3, 2, 0, -1]), pick.choice([N, N, N, 5]), pick.choice([False, True])]
        for argument in schema[4:]:
            kind = str(argument.type)
            matching = [t for t in things if (isinstance(t, torch.Tensor) and "Tensor" in kind) or (t is None and "Optional" in kind)
                        or (kind == "str" and isinstance(t, str)) or (kind == "float" and isinstance(t, float))
                        or (kind == "bool" and isinstance(t, bool)) or (kind in ("int", "SymInt") and type(t) is int)]
            arguments.append(pick.choice(matching))
        try:
            operator(*arguments)
        except (ValueError, RuntimeError, TypeError, IndexError, NotImplementedError):
            pass
    y = torch.ops.rodeo.spmm_on_edges(good, N, N, False, torch.ones(N, 2, device=device), None, "sum")
    assert y.sum() == 2 * E
    with pytest.raises(ValueError, match=rf"edge values must be \[{E + N}, ...\]"):
        torch.ops.rodeo.edge_softmax_on_edges(good, N, N, True, torch.ones(E, device=device))
