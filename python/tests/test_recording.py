"""The functions of rodeo, of rodeo.torch and the operators behind them take the same options, recorded or not."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch as rt  # noqa: E402
from conftest import make_edges  # noqa: E402

N, E = 12, 40


@pytest.fixture
def graph(device):
    return rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)


def values(*shape, device="cpu", grad=True):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).to(device).requires_grad_(grad)


def spmm_paths(graph, x, weight, **options):
    """Every way to the product, by name. Each calls it."""
    compiled = torch.compile(lambda x: rt.spmm(graph, x, weight, **options), fullgraph=True, backend="aot_eager")

    def autocast():
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            return rt.spmm(graph, x, weight, **options)

    def unrecorded():
        with torch.no_grad():
            return rt.spmm(graph, x, weight, **options)

    return {"computed": lambda: rodeo.spmm(graph, x.detach(), weight, **options),
            "recorded": lambda: rodeo.spmm(graph, x, weight, **options),
            "rodeo.torch": lambda: rt.spmm(graph, x, weight, **options),
            "without gradients": unrecorded, "autocast": autocast, "compiled": lambda: compiled(x)}


def test_unknown_names_are_refused_on_every_path(graph, device):
    names = {"algorithm": "unknown spmm algorithm 'magic': expected one of auto, csr, rode", "reduce": "magic"}
    for option, text in names.items():
        for heads in False, True:
            x = values(N, 2, 3, device=device) if heads else values(N, 3, device=device)
            for path, call in spmm_paths(graph, x, None, **{option: "magic"}).items():
                with pytest.raises(ValueError, match=text):
                    call()
                    pytest.fail(f"{path} took {option}='magic'")
    x = values(N, 3, device=device)
    for call in lambda: rodeo.sddmm(graph, x, x, op="magic"), lambda: rodeo.sddmm(graph, x.detach(), x.detach(), op="magic"):
        with pytest.raises(ValueError, match="op must be dot, add or mul, got magic"):
            call()


def test_algorithms_that_the_device_lacks_are_refused_on_every_path():
    torch._dynamo.reset()
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E)), N)
    for path, call in spmm_paths(graph, values(N, 8), None, algorithm="tca").items():
        with pytest.raises(ValueError, match="tca runs on CUDA only"):
            call()
            pytest.fail(f"{path} took tca on the CPU")
    for path, call in spmm_paths(graph, values(N, 8), None, algorithm="rode", reduce="max").items():
        with pytest.raises(ValueError, match="max has a kernel of its own"):
            call()
            pytest.fail(f"{path} took rode for a maximum")


def test_dropout_needs_a_seed_recorded_or_not(graph, device):
    s, t, x = (values(N, 2, *k, device=device) for k in ((), (), (4,)))
    seed = torch.tensor([7], device=device)
    results = []
    for inputs in (s, t, x), (s.detach(), t.detach(), x.detach()):
        with pytest.raises(ValueError, match="with dropout, seed must be an int64 array of one element on the device of the operands"):
            rodeo.gat_attention(graph, *inputs, dropout=0.5)
        results.append(rodeo.gat_attention(graph, *inputs, dropout=0.5, seed=seed))
        assert rodeo.gat_attention(graph, *inputs).shape == (N, 2, 4)  # without dropout there is no seed
        assert rt.gat_attention(graph, *inputs, dropout=0.5).shape == (N, 2, 4)  # draws one
    assert torch.equal(*results)


def hub_edges(nodes=3000):
    """Node 0 has edges from and to all others: rows that RoDe splits, and that csr sums in another order."""
    others = np.arange(1, nodes)
    hub = np.zeros_like(others)
    return np.stack([np.concatenate([hub, others]), np.concatenate([others, hub])])


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_algorithm_computes_forward_and_backward(device, reduce, weighted):
    torch._dynamo.reset()  # every case compiles the same lines anew
    edges = hub_edges()
    graph = rodeo.Graph.from_edge_index(torch.tensor(edges, device=device))
    weight = values(graph.num_edges, device=device, grad=False) if weighted else None
    x = values(graph.num_nodes, 16, device=device)
    bits = {}
    for algorithm in "csr", "rode":
        plain = rodeo.spmm(graph, x.detach(), weight, reduce=reduce, algorithm=algorithm)
        dy = values(*plain.shape, device=device, grad=False)
        scale = 1 if reduce == "sum" else (graph.indptr[1:] - graph.indptr[:-1]).clamp(min=1).unsqueeze(1)
        dx = rodeo.spmm(graph.T, dy / scale, None if weight is None else graph.T.permute(weight), algorithm=algorithm)
        compiled = torch.compile(lambda x: rt.spmm(graph, x, weight, reduce=reduce, algorithm=algorithm), fullgraph=True,
                                 backend="aot_eager")
        operator = torch.ops.rodeo.spmm
        for path in (lambda x: rodeo.spmm(graph, x, weight, reduce=reduce, algorithm=algorithm), compiled,
                     lambda x: operator(graph._id, False, x, weight, reduce, algorithm)):
            x.grad = None
            y = path(x)
            y.backward(dy)
            assert torch.equal(y.detach(), plain)
            if reduce == "sum":  # the scale of a mean is rounded once more
                assert torch.equal(x.grad, dx)
            torch.testing.assert_close(x.grad, dx, rtol=1e-4, atol=1e-4)
        bits[algorithm] = plain, x.grad
    for of_csr, of_rode in zip(bits["csr"], bits["rode"]):
        assert not torch.equal(of_csr, of_rode)  # else this test would not see which of them ran
        torch.testing.assert_close(of_csr, of_rode, rtol=1e-4, atol=1e-4)


def test_operators_have_a_default_algorithm(graph, device):
    x, weight = values(N, 3, device=device), values(E, device=device)
    arguments = graph._id, False, x, weight, "sum"
    torch.library.opcheck(torch.ops.rodeo.spmm.default, arguments)
    torch.library.opcheck(torch.ops.rodeo.spmm.default, (*arguments, "rode"))
    edges = torch.tensor(make_edges(N, E), device=device)
    torch.library.opcheck(torch.ops.rodeo.spmm_on_edges.default, (edges, N, N, False, *arguments[2:], "rode"))
    assert torch.equal(torch.ops.rodeo.spmm(*arguments), torch.ops.rodeo.spmm(*arguments, "auto"))


def out_calls(graph, device):
    """Each function with out, as (name, call(out), operands by name, the shape of the result)."""
    x, heads = values(N, 4, device=device, grad=False), values(N, 2, 4, device=device, grad=False)
    weight, scores = values(E, device=device, grad=False), values(E, 2, device=device, grad=False)
    s, t = (values(N, 2, device=device, grad=False) for _ in range(2))
    normal = rodeo.gcn_norm(graph)
    offsets = torch.arange(N + 1, device=device)
    return [
        ("spmm", lambda out: rodeo.spmm(graph, x, weight, out=out), {"x": x, "weight": weight}, (N, 4)),
        ("sddmm", lambda out: rodeo.sddmm(graph, x, x, op="add", weight=weight, out=out), {"b1": x, "weight": weight}, (E, 4)),
        ("edge_softmax", lambda out: rodeo.edge_softmax(graph, scores, out=out), {"score": scores}, (E, 2)),
        ("edge_sum", lambda out: rodeo.edge_sum(graph, scores, out=out), {"x": scores}, (N, 2)),
        ("gat_attention", lambda out: rodeo.gat_attention(graph, s, t, heads, out=out), {"s": s, "t": t, "x": heads}, (N, 2, 4)),
        ("gcn_propagate", lambda out: rodeo.gcn_propagate(normal, x, out=out), {"x": x, "scale": normal.scale}, (N, 4)),
        ("segment_reduce", lambda out: rodeo.segment_max(x, offsets, out=out), {"x": x}, (N, 4))]


def overlapping(operand, shape):
    """A tensor of this shape whose first element is the operand's last one, and one that begins with the operand."""
    count = int(np.prod(shape))
    storage = torch.empty(operand.numel() + count, device=operand.device)
    storage[:operand.numel()] = operand.flatten()
    operand.set_(storage.untyped_storage(), 0, operand.shape, operand.stride())
    return storage[operand.numel() - 1:][:count].view(shape), storage[:count].view(shape), storage[operand.numel():].view(shape)


def test_out_shares_no_memory_with_operands(graph, device):
    for name, call, operands, shape in out_calls(graph, device):
        expected = call(torch.empty(shape, device=device)).clone()
        for what, operand in operands.items():
            last, first, behind = overlapping(operand, shape)
            for out in last, first:
                with pytest.raises(ValueError, match=rf"\[{name}\] out must not share memory with {what}: give another"):
                    call(out)
            assert torch.equal(call(behind), expected)
    numbers = rodeo.Graph.from_edge_index(make_edges(N, E), N)
    x = np.ones((N, 2))
    with pytest.raises(ValueError, match="out must not share memory with x"):
        rodeo.spmm(numbers, x, out=x)


def test_backward_notices_that_out_was_written(graph, device):
    for name, call, _, shape in out_calls(graph, device):
        saved = torch.ones(shape, device=device)
        y = torch.ones(shape, device=device, requires_grad=True) * saved
        call(saved)
        with pytest.raises(RuntimeError, match="inplace|in-place"):
            y.sum().backward()
            pytest.fail(f"the gradient of a product with what {name} overwrote is wrong")
        with pytest.raises(ValueError, match=rf"\[{name}\] out cannot be recorded"):
            call(torch.ones(shape, device=device, requires_grad=True))
        with torch.inference_mode():
            call(torch.ones(shape, device=device))


def test_weights_of_sddmm_are_checked_on_both_paths(graph, device):
    for b in values(N, 3, device=device), values(N, 3, device=device, grad=False):
        for weight in torch.ones(1, device=device), torch.ones(E + 1, device=device), torch.ones(E, 1, device=device):
            with pytest.raises(ValueError, match=rf"\[sddmm\] weight must be \[{E}\].*, got"):
                rodeo.sddmm(graph, b, b, op="mul", weight=weight)
        if device == "cuda":
            with pytest.raises(ValueError, match=r"\[sddmm\] weight"):
                rodeo.sddmm(graph, b, b, weight=torch.ones(E))


def test_gradients_that_would_be_lost_are_refused(graph, device):
    weight, x = torch.ones(E, device=device, requires_grad=True), values(N, 3, device=device, grad=False)
    with pytest.raises(ValueError, match=r"\[gcn_norm\] weight and scale are constants"):
        rodeo.gcn_norm(graph, weight)
    with torch.no_grad():
        normal = rodeo.gcn_norm(graph, weight)
    assert rodeo.gcn_propagate(rodeo.gcn_norm(graph, weight.detach()), x).isfinite().all()
    learned = normal._replace(scale=normal.scale.clone().requires_grad_())
    for propagate in rodeo.gcn_propagate, rt.gcn_propagate:
        with pytest.raises(ValueError, match=r"\[gcn_propagate\] weight and scale are constants"):
            propagate(learned, x)


def test_graphs_used_in_inference_mode_can_be_trained_on(device):
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    weight = torch.rand(E, device=device, requires_grad=True)
    with torch.inference_mode():
        expected = graph.permute(weight)
        looped = graph.with_self_loops()
        looped.permute(weight)
    torch.testing.assert_close(graph.permute(weight), expected)
    (graph.permute(weight).sum() + 2 * looped.permute(weight).sum()).backward()
    torch.testing.assert_close(weight.grad, torch.full_like(weight, 3))


def test_graphs_explain_their_choices(device):
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    assert graph.explain() == ""
    x = values(N, 8, device=device)
    rodeo.sddmm(graph, x, x)
    lines = graph.explain().splitlines()
    assert lines[0] == "sddmm" and lines[1].startswith("k=8 f32 unweighted: ") and "spmm" not in lines
    rodeo.spmm(graph, x, torch.ones(E, device=device))
    lines = graph.explain().splitlines()
    assert lines[0] == "spmm" and lines[1].startswith("n=8 f32 weighted: ") and "sddmm" in lines
    assert graph.T.explain() == ""


def test_docstrings_stand_alone():
    functions = [name for name in rt.__all__ if name not in ("nn", "graph_of")]
    assert len(functions) == 10
    for name in functions:
        text = getattr(rt, name).__doc__
        assert "[" in text and ("->" in text or "returns" in text or "gives" in text), f"{name} states no shapes"
    assert "ValueError" in rt.__doc__ and "bf16" in rt.__doc__
