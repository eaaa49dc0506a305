"""rodeo.torch: gradients, PyTorch's checks of custom operators, compilation, autocast, streams and CUDA graphs."""
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch as rt  # noqa: E402
from conftest import dense_matrix, make_edges  # noqa: E402

N, E = 12, 40


@pytest.fixture
def graph(device):
    return rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)


def double(*shape, device="cpu", seed=1, grad=True):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).to(device).requires_grad_(grad)


@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("heads", [False, True])
def test_spmm_gradients(graph, device, reduce, weighted, heads):
    x = double(N, 2, 3, device=device) if heads else double(N, 3, device=device)
    weight = (double(E, 2, device=device, seed=2) if heads else double(E, device=device, seed=2)) if weighted else None
    inputs = (x, weight) if weighted else (x,)
    assert torch.autograd.gradcheck(lambda *a: rt.spmm(graph, *a, reduce=reduce), inputs)


@pytest.mark.parametrize("op", ["dot", "add", "mul"])
def test_sddmm_gradients(graph, device, op):
    for shape in (N, 3), (N, 2, 3):
        a, b, w = double(*shape, device=device), double(*shape, device=device, seed=2), double(E, device=device, seed=3)
        assert torch.autograd.gradcheck(lambda a, b, w: rt.sddmm(graph, a, b, op=op, weight=w), (a, b, w))


def test_other_gradients(graph, device):
    check = torch.autograd.gradcheck
    assert check(lambda s: rt.edge_softmax(graph, s), (double(E, 2, device=device),))
    assert check(lambda s: rt.edge_sum(graph, s), (double(E, 2, device=device),))
    assert check(lambda v: rt.permute(graph, v), (double(E, device=device),))
    for fill in "mean", "add", "max", "min":
        assert check(lambda f: torch.ops.rodeo.with_loop_features(graph._id, False, f, None, fill), (double(E, 2, device=device),))
    s, t, x = double(N, 2, device=device), double(N, 2, device=device, seed=2), double(N, 2, 3, device=device, seed=3)
    assert check(lambda s, t, x: rt.gat_attention(graph, s, t, x), (s, t, x))
    seed = torch.tensor([5], device=device)
    assert check(lambda s, t, x: rt.gat_attention(graph, s, t, x, dropout=0.4, seed=seed), (s, t, x))
    q, key, a = (double(*shape, device=device, seed=7) for shape in ((N, 2, 3), (N, 2, 3), (2, 3)))
    bias, edge = double(E, 2, device=device), double(E, 2, 3, device=device)
    assert check(lambda *t: rt.dot_attention(graph, *t[:3], bias=t[3], edge=t[4], dropout=0.4, seed=seed), (q, key, x, bias, edge))
    assert check(lambda *t: rt.dot_attention(graph, *t), (q, key, double(N, 2, 5, device=device)))
    assert check(lambda *t: rt.gatv2_attention(graph, *t[:3], edge=t[3], dropout=0.4, seed=seed), (q, key, a, edge))
    assert torch.autograd.gradgradcheck(lambda *t: rt.dot_attention(graph, *t[:3], edge=t[3]), (q, key, x, edge))
    assert torch.autograd.gradgradcheck(lambda *t: rt.gatv2_attention(graph, *t), (q, key, a))
    for shape in (2, 3), (1, 2, 3):
        a, b = double(*shape, device=device, seed=4), double(*shape, device=device, seed=6)
        attention = torch.ops.rodeo.gat_self_attention
        assert check(lambda x, a, b: attention(graph._id, False, x, a, b, 0.2, 0.4, seed)[0], (x, a, b))
        y = attention(graph._id, False, x, a, b, 0.2, 0.0, None)[0]
        torch.testing.assert_close(y, rt.gat_attention(graph, (x * a).sum(-1), (x * b).sum(-1), x))
    normal = rodeo.gcn_norm(graph, dtype="float64")
    assert check(lambda x: rt.gcn_propagate(normal, x), (double(N, 3, device=device),))
    offsets = torch.tensor([0, 4, 4, N], device=device)
    for reduce in "sum", "mean", "max":
        assert check(lambda x: rt.segment_reduce(x, offsets, reduce), (double(N, 2, device=device),))


def test_values_and_recording(device):
    edges = make_edges(N, E)
    graph = rodeo.Graph.from_edge_index(torch.tensor(edges, device=device), N)
    x = double(N, 5, device=device)
    expected = torch.tensor(dense_matrix(edges, None, N, N)) @ x.detach().cpu()
    for y in rt.spmm(graph, x), rodeo.spmm(graph, x), rodeo.spmm(graph, x.detach()):
        assert y.device == x.device and y.dtype == x.dtype
        torch.testing.assert_close(y.detach().cpu(), expected)
    assert rodeo.spmm(graph, x).requires_grad and not rodeo.spmm(graph, x.detach()).requires_grad
    with torch.no_grad():
        out = torch.empty_like(x)
        assert rodeo.spmm(graph, x, out=out) is out
    with pytest.raises(ValueError, match="out cannot be recorded"):
        rodeo.spmm(graph, x, out=torch.empty_like(x))


def test_any_strides_are_read(graph, device):
    x = double(6, N, device=device, grad=False)
    torch.testing.assert_close(rt.spmm(graph, x.T), rt.spmm(graph, x.T.contiguous()))
    with pytest.raises(ValueError, match="contiguous"):
        rodeo.spmm(graph, x.T)
    view = double(N + 1, 3, device=device, grad=False).flatten()[1:1 + 3 * N].view(N, 3)  # not aligned to 16 bytes
    torch.testing.assert_close(rodeo.spmm(graph, view), rodeo.spmm(graph, view.clone()))


OPERATORS = {
    "spmm": lambda g, d: (g._id, False, double(N, 3, device=d), double(E, device=d), "sum"),
    "sddmm": lambda g, d: (g._id, False, double(N, 3, device=d), double(N, 3, device=d), "dot"),
    "edge_softmax": lambda g, d: (g._id, False, double(E, 2, device=d)),
    "edge_sum": lambda g, d: (g._id, False, double(E, 2, device=d)),
    "of_ends": lambda g, d: (g._id, False, double(N, 2, device=d)),
    "permute": lambda g, d: (g._id, False, double(E, device=d), 1.0),
    "gcn": lambda g, d: (g._id, False, double(N, 3, device=d), False),
    "with_loop_features": lambda g, d: (g._id, False, double(E, 3, device=d), None, "mean"),
    "gat_attention": lambda g, d: (g._id, False, double(N, 2, device=d), double(N, 2, device=d), double(N, 2, 3, device=d), 0.2, 0.0,
                                   None),
    "gat_self_attention": lambda g, d: (g._id, False, double(N, 2, 3, device=d), double(1, 2, 3, device=d), double(2, 3, device=d),
                                        0.2, 0.0, None),
    "gat_attention_only": lambda g, d: (g._id, False, double(N, 2, device=d, grad=False), double(N, 2, device=d, grad=False),
                                        double(N, 2, 3, device=d, grad=False), 0.2, 0.0, None),
    "dot_attention": lambda g, d: (g._id, False, double(N, 2, 3, device=d), double(N, 2, 3, device=d), double(N, 2, 3, device=d),
                                   double(E, 2, device=d), double(E, 2, 3, device=d), 0.5, 0.0, None),
    "gatv2_attention": lambda g, d: (g._id, False, double(N, 2, 3, device=d), double(N, 2, 3, device=d), double(2, 3, device=d), None,
                                     0.2, 0.0, None),
    "segment_reduce": lambda g, d: (double(N, 2, device=d), torch.tensor([0, 5, N], device=d), "sum"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_opcheck(graph, device, name):
    torch.library.opcheck(getattr(torch.ops.rodeo, name).default, OPERATORS[name](graph, device))


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("name", OPERATORS)
def test_opcheck_of_operators_on_edges(graph, device, name, loops):
    if name == "segment_reduce" or (loops and name == "with_loop_features"):
        pytest.skip("has no graph" if name == "segment_reduce" else "adds loops itself")
    number, _, *arguments = OPERATORS[name](graph, device)
    if loops:  # edge values are [edges + nodes] then
        pad = name in ("spmm", "edge_softmax", "edge_sum", "dot_attention")
        arguments = [torch.cat([a, a[:N]]).detach().requires_grad_() if pad and isinstance(a, torch.Tensor) and a.size(0) == E
                     else a for a in arguments]
    edges = torch.tensor(make_edges(N, E), device=device)
    operator = getattr(torch.ops.rodeo, name + "_on_edges").default
    torch.library.opcheck(operator, (edges, N, N, loops, *arguments))


def test_compiled_functions_have_no_graph_breaks(graph, device):
    def function(x, weight):
        y = rt.spmm(graph, torch.relu(x), torch.sigmoid(weight))
        return rt.gat_attention(graph, y[:, :2], y[:, 1:3], y.view(N, 2, 2).contiguous()).sum()

    x, weight = double(N, 4, device=device), double(E, device=device)
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    function(x, weight).backward()
    expected = x.grad.clone(), weight.grad.clone()
    x.grad = weight.grad = None
    compiled(x, weight).backward()
    torch.testing.assert_close(x.grad, expected[0])
    torch.testing.assert_close(weight.grad, expected[1])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(graph, device, dtype):
    x = torch.randn(N, 4, device=device, requires_grad=True)
    weight = torch.rand(E, device=device, requires_grad=True)
    with torch.autocast(device, dtype=dtype):
        y = rt.spmm(graph, x, weight)
        a = rt.edge_softmax(graph, y[:, 0].new_ones(E))
        z = rt.gat_attention(graph, y[:, :2], y[:, 2:], x.view(N, 2, 2))
    assert y.dtype == z.dtype == dtype and a.dtype == torch.float32
    (y.sum() + z.sum()).backward()
    assert x.grad.dtype == torch.float32 and weight.grad.dtype == torch.float32
    torch.testing.assert_close(y.float(), rt.spmm(graph, x, weight), atol=0.05, rtol=0.05)


def test_errors_name_the_tensor(graph, device):
    with pytest.raises(ValueError, match=r"x must be \[12, n\], got \[3, 4\]"):
        rt.spmm(graph, torch.zeros(3, 4, device=device))
    with pytest.raises(ValueError, match="weight"):
        rt.spmm(graph, torch.zeros(N, 4, device=device), torch.zeros(E, dtype=torch.float64, device=device))
    with pytest.raises(ValueError, match="sparse"):
        rodeo.spmm(graph, torch.eye(N, device=device).to_sparse())
    with pytest.raises(ValueError, match="float64, float32"):
        rodeo.spmm(graph, torch.zeros(N, 2, dtype=torch.complex64, device=device))
    number = rodeo.Graph.from_edge_index(torch.zeros(2, 1, dtype=torch.int64, device=device), 1)._id
    with pytest.raises(ValueError, match="no longer exists"):
        torch.ops.rodeo.spmm(number, False, torch.zeros(1, 1, device=device), None, "sum")
    with pytest.raises(Exception, match="meta|CPU or a CUDA device"):
        rodeo.spmm(graph, torch.zeros(N, 2, device="meta"))


def test_graphs_of_edge_index_follow_changes(device):
    edges = torch.tensor(make_edges(N, E), device=device)
    graph = rt.graph_of(edges, N)
    assert rt.graph_of(edges, N) is graph and rt.graph_of(edges, N + 1) is not graph
    edges[1, 0] = (edges[1, 0] + 1) % N
    changed = rt.graph_of(edges, N)
    assert changed is not graph
    expected = rodeo.Graph.from_edge_index(edges, N)
    assert torch.equal(changed.indptr, expected.indptr) and torch.equal(changed.indices, expected.indices)


def test_graphs_of_edge_index_in_inference_mode_follow_changes(device):
    with torch.inference_mode():
        edges = torch.tensor(make_edges(N, E), device=device)
        graph = rt.graph_of(edges, N)
        assert rt.graph_of(edges, N) is graph
        for seed in range(1, 11):
            edges.copy_(torch.tensor(make_edges(N, E, seed=seed)))
            assert torch.equal(rt.graph_of(edges, N).indices, rodeo.Graph.from_edge_index(edges, N).indices)


def test_threads_with_new_edge_index_tensors(device):
    edges = [torch.tensor(make_edges(N, E, seed=seed), device=device) for seed in range(8)]
    x = torch.ones(N, 2, device=device)
    layer, wrong = rt.nn.GCNConv(2, 2).to(device), []
    expected = [layer(x, e) for e in edges]

    def work(i):
        try:
            for _ in range(300):  # each a tensor that dies, so that graphs are dropped beside others
                if not torch.equal(layer(x, edges[i].clone()), expected[i]):
                    raise AssertionError("another graph's result")
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1 if device == "cuda" else 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_other_threads(graph, device):
    x = double(N, 8, device=device, grad=False)
    expected, wrong = rt.spmm(graph, x), []

    def work():
        for _ in range(20):
            y = rt.spmm(graph, x.clone().requires_grad_())
            y.sum().backward()
            if not torch.equal(y.detach(), expected):
                wrong.append(1)

    count = 1 if device == "cuda" else 3  # a graph on CUDA is for one thread at a time
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_reruns_have_the_same_bits(device):
    edges = torch.tensor(make_edges(500, 20000), device=device)
    results = []
    for _ in range(2):
        graph = rodeo.Graph.from_edge_index(edges, 500)
        x = torch.randn(500, 32, generator=torch.Generator().manual_seed(0)).to(device).requires_grad_()
        y = rt.gat_attention(graph, x[:, :4], x[:, 4:8], x.view(500, 4, 8))
        y.square().sum().backward()
        results.append((y.detach(), x.grad))
    assert torch.equal(results[0][0], results[1][0]) and torch.equal(results[0][1], results[1][1])


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_other_streams_and_no_waiting(graph, device):
    x = torch.randn(N, 8, device=device)
    expected = rt.spmm(graph, x)
    rt.spmm(graph, x.requires_grad_()).sum().backward()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        y = rt.spmm(graph, x)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(y, expected)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        rt.spmm(graph, x).sum().backward()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_cuda_graphs_capture_forward_and_backward(graph, device):
    x = torch.randn(N, 2, 4, device=device, requires_grad=True)
    s, t = (torch.randn(N, 2, device=device, requires_grad=True) for _ in range(2))

    def step():
        y = rt.gat_attention(graph, s, t, rt.spmm(graph, x.flatten(1)).view(N, 2, 4), dropout=0.5)
        y.square().sum().backward()
        return y

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            for leaf in x, s, t:
                leaf.grad = None
            step()
    torch.cuda.current_stream().wait_stream(side)
    for leaf in x, s, t:
        leaf.grad = None
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        y = step()
    results = []
    for _ in range(2):
        captured.replay()
        torch.cuda.synchronize()
        results.append((y.detach().clone(), x.grad.clone()))
    assert results[0][1].isfinite().all() and results[0][1].abs().sum() > 0
    assert not torch.equal(results[0][0], results[1][0])  # each replay draws new masks


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_devices_must_agree(graph, device):
    with pytest.raises(ValueError, match="cuda"):
        rodeo.spmm(graph, torch.zeros(N, 4))
    with pytest.raises(ValueError, match="cuda"):
        rodeo.spmm(graph, torch.zeros(N, 4, device=device), torch.zeros(E))


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_memory_errors_are_those_of_pytorch(device):
    graph = rodeo.Graph.from_edge_index(torch.zeros(2, 1, dtype=torch.int64, device=device), 2**20, num_sources=1)
    with pytest.raises((torch.OutOfMemoryError, MemoryError)):
        rodeo.spmm(graph, torch.zeros(1, 2**20, device=device))
    assert rodeo.spmm(graph, torch.ones(1, 1, device=device))[0, 0] == 1


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_other_devices_leave_the_current_one(device):
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device")
    edges = torch.tensor(make_edges(N, E))
    first, second = (rodeo.Graph.from_edge_index(edges.to(f"cuda:{i}"), N) for i in range(2))
    x = torch.randn(N, 4)
    expected = rodeo.spmm(rodeo.Graph.from_edge_index(edges, N), x)
    for current in 0, 1, 0:
        with torch.cuda.device(current):
            for index, graph in enumerate((first, second)):
                y = rt.spmm(graph, x.to(f"cuda:{index}").requires_grad_())
                y.sum().backward()
                torch.testing.assert_close(y.detach().cpu(), expected)
            rodeo.train(rodeo.Dataset.generate("cora"), epochs=3, device="cuda:1")
            assert torch.cuda.current_device() == current
    assert first.to("cuda:1").device == "cuda:1"


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_training_on_the_gpu(device):
    data = rodeo.Dataset.generate("cora")
    results = [rodeo.train(data, epochs=60, device="cuda") for _ in range(2)]
    assert results[0].best["val"] > 0.6 and (results[0].logits == results[1].logits).all()
    assert (rodeo.train(data, epochs=60, gpus=1).logits == results[0].logits).all()
    link = rodeo.train(data, task="link", epochs=10, device="cuda")
    assert np.isfinite(link.score(np.array([[0, 1], [2, 3]]))).all()
    assert len(rodeo.train(data, epochs=3, seeds=2, device="cuda").runs) == 2
    with pytest.raises(KeyError):
        rodeo.train(data, epochs=1000, device="cuda", callback=lambda epoch: {}["stop"] if epoch["epoch"] == 20 else None)
    torch.testing.assert_close(rodeo.spmm(rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E)).cuda(), N),
                                          torch.ones(N, 2, device=device)).sum().item(), 2.0 * E)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_training_on_two_gpus(device):
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device")
    data = rodeo.Dataset.generate("cora")
    shared, alone = rodeo.train(data, epochs=20, gpus=2, dropout=0), rodeo.train(data, epochs=20, device="cuda", dropout=0)
    np.testing.assert_allclose([e["loss"] for e in shared.history], [e["loss"] for e in alone.history], rtol=1e-3)


def test_arguments_of_any_kind_never_crash(graph, device):
    import random
    pick = random.Random(3)
    things = [None, 2, "sum", torch.zeros(0), torch.zeros(N), torch.zeros(N, 4), torch.zeros(N, 2, 2), torch.zeros(E), torch.zeros(E, 2),
              torch.zeros(4, N).T, torch.zeros(1).expand(N, 4), torch.zeros(N, 4, dtype=torch.float16), torch.zeros(E, dtype=torch.int64),
              torch.zeros(N, 4, requires_grad=True), torch.zeros(N, 4, device="meta"), torch.eye(N).to_sparse(),
              torch.zeros(N, 4, dtype=torch.complex64), torch.zeros(N, 4)[:, 1:3], torch.zeros(N + 1, 4)[1:]]
    things += [t.to(device) for t in things if isinstance(t, torch.Tensor) and t.device.type == "cpu"]
    for _ in range(1500):
        call = pick.choice([rodeo.spmm, rodeo.sddmm, rodeo.edge_softmax, rodeo.gat_attention, rt.spmm, rt.sddmm, rt.edge_softmax,
                            rt.edge_sum, rt.gat_attention, rt.permute])
        try:
            call(graph, *(pick.choice(things) for _ in range(pick.randint(1, 3))))
        except (ValueError, TypeError, RuntimeError, NotImplementedError, AttributeError, BufferError):
            pass
    torch.testing.assert_close(rodeo.edge_sum(graph, torch.ones(E, device=device)).sum().item(), float(E))


def test_sums_without_weights_do_not_keep_their_input(graph, device):
    import weakref
    x = torch.randn(N, 3, device=device, requires_grad=True)
    for weight, kept in (None, False), (torch.ones(E, device=device), True):
        hidden = x * 2
        seen = weakref.ref(hidden)
        y = rt.spmm(graph, hidden, weight, reduce="mean")
        del hidden
        assert (seen() is not None) == kept
        y.sum().backward()
    with torch.no_grad():
        assert torch.allclose(x.grad, 2 * 2 * rodeo.spmm(graph.T, 1 / rodeo.spmm(graph, torch.ones(N, 1, device=device)).clamp(min=1)).expand(N, 3))
