"""Second derivatives, forward mode and torch.func: of the operators by PyTorch's checks, of the layers beside PyG."""
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch as rt  # noqa: E402
from conftest import make_edges  # noqa: E402
from rodeo.torch._define import calls  # noqa: E402
from rodeo.torch._graphs import handle_of  # noqa: E402

N, E = 7, 16
OFFSETS = [0, 3, 3, N]


@pytest.fixture
def graph(device):
    graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, E), device=device), N)
    graph.normal = rodeo.gcn_norm(graph, dtype="float64")
    return graph


def double(*shape, device="cpu", seed=1):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device).requires_grad_()


def seed_of(d):
    return torch.tensor([5], device=d)


OPERATORS = {  # name: function(graph, device, *inputs), shapes of the inputs
    **{f"spmm {reduce}": (lambda g, d, x, reduce=reduce: rt.spmm(g, x, reduce=reduce), (N, 3))
       for reduce in ("sum", "mean", "max", "min")},
    **{f"spmm {reduce} weights": (lambda g, d, x, w, reduce=reduce: rt.spmm(g, x, w, reduce=reduce), (N, 3), (E,))
       for reduce in ("sum", "mean", "max", "min")},
    **{f"spmm {reduce} heads": (lambda g, d, x, w, reduce=reduce: rt.spmm(g, x, w, reduce=reduce), (N, 2, 3), (E, 2))
       for reduce in ("sum", "mean", "max")},
    **{f"sddmm {op}": (lambda g, d, a, b, op=op: rt.sddmm(g, a, b, op=op), (N, 3), (N, 3)) for op in ("dot", "add", "mul")},
    **{f"sddmm {op} heads": (lambda g, d, a, b, op=op: rt.sddmm(g, a, b, op=op), (N, 2, 2), (N, 2, 2))
       for op in ("dot", "add", "mul")},
    "edge_softmax": (lambda g, d, s: rodeo.edge_softmax(g, s), (E, 2)),  # functions of rodeo call those of rodeo.torch
    "edge_sum": (lambda g, d, x: rt.edge_sum(g, x), (E, 2)),
    "edge_sum vector": (lambda g, d, x: rt.edge_sum(g, x), (E,)),
    "permute": (lambda g, d, v: rt.permute(g, v), (E,)),
    "permute loops": (lambda g, d, v: rt.permute(g.with_self_loops(), v), (E, 2)),
    "gcn_propagate": (lambda g, d, x: rodeo.gcn_propagate(g.normal, x), (N, 3)),
    "gat_attention": (lambda g, d, s, t, x: rt.gat_attention(g, s, t, x), (N, 2), (N, 2), (N, 2, 3)),
    "gat_attention dropout": (lambda g, d, s, t, x: rt.gat_attention(g, s, t, x, dropout=0.4, seed=seed_of(d)), (N, 2), (N, 2),
                              (N, 2, 3)),
    "gat_self_attention": (lambda g, d, x, a, b: calls.gat_self_attention(handle_of(g), x, a, b, 0.2, 0.4, seed_of(d))[0],
                           (N, 2, 3), (1, 2, 3), (1, 2, 3)),
    "dot_attention": (lambda g, d, q, k, v: rt.dot_attention(g, q, k, v), (N, 2, 3), (N, 2, 3), (N, 2, 2)),
    "dot_attention terms": (lambda g, d, q, k, v, b, e: rt.dot_attention(g, q, k, v, bias=b, edge=e, dropout=0.4, seed=seed_of(d)),
                            (N, 1, 2), (N, 1, 2), (N, 1, 2), (E, 1), (E, 1, 2)),
    "gatv2_attention": (lambda g, d, l, r, a: rt.gatv2_attention(g, l, r, a), (N, 2, 3), (N, 2, 3), (2, 3)),
    "gatv2_attention features": (lambda g, d, l, r, a, e: rt.gatv2_attention(g, l, r, a, edge=e, dropout=0.4, seed=seed_of(d)),
                                 (N, 1, 2), (N, 1, 2), (1, 2), (E, 1, 2)),
    "edge_dropout": (lambda g, d, w: calls.edge_dropout(handle_of(g), w, 0.4, seed_of(d)), (E, 2)),
    **{f"loop features {fill}": (lambda g, d, f, fill=fill: calls.with_loop_features(handle_of(g), f, None, fill), (E, 2))
       for fill in ("mean", "max")},
    **{f"segment {reduce}": (lambda g, d, x, reduce=reduce: rt.segment_reduce(x, torch.tensor(OFFSETS, device=d), reduce), (N, 2))
       for reduce in ("sum", "mean", "max", "min")},
}


def case(name, graph, device):
    function, *shapes = OPERATORS[name]
    return lambda *inputs: function(graph, device, *inputs), tuple(double(*s, device=device, seed=i) for i, s in enumerate(shapes))


@pytest.mark.parametrize("name", OPERATORS)
def test_first_derivatives(graph, device, name):
    assert torch.autograd.gradcheck(*case(name, graph, device))


@pytest.mark.parametrize("name", OPERATORS)
def test_second_derivatives(graph, device, name):
    assert torch.autograd.gradgradcheck(*case(name, graph, device))


@pytest.mark.parametrize("name", OPERATORS)
def test_forward_mode(graph, device, name):
    function, inputs = case(name, graph, device)
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_backward_ad=False)


@pytest.mark.parametrize("name", OPERATORS)
def test_torch_func(graph, device, name):
    function, inputs = case(name, graph, device)
    at = tuple(range(len(inputs)))
    expected = torch.autograd.functional.jacobian(function, inputs)
    for transform in torch.func.jacrev, torch.func.jacfwd:
        for got, jacobian in zip(transform(function, argnums=at)(*inputs), expected):
            torch.testing.assert_close(got, jacobian)

    def scalar(*inputs):
        return function(*inputs).square().sum()

    def eager(*inputs):
        return torch.autograd.grad(scalar(*inputs), inputs)

    for got, gradient in zip(torch.func.grad(scalar, argnums=at)(*inputs), eager(*inputs)):
        torch.testing.assert_close(got, gradient)
    hessian = torch.autograd.functional.hessian(scalar, inputs)
    for got, row in zip(torch.func.hessian(scalar, argnums=at)(*inputs), hessian):
        for block, block_expected in zip(got, row):
            torch.testing.assert_close(block, block_expected)
    batched = tuple(torch.stack([x, -2 * x, x + 1]).detach() for x in inputs)
    each = torch.stack([function(*(x[b] for x in batched)) for b in range(3)])
    torch.testing.assert_close(torch.func.vmap(function)(*batched), each)
    if len(inputs) > 1:  # one of them is not mapped
        first = torch.func.vmap(function, in_dims=(0, *[None] * (len(inputs) - 1)))(batched[0], *inputs[1:])
        torch.testing.assert_close(first[0], function(*inputs))


def test_what_has_no_derivative_says_so(graph, device):
    with pytest.raises(NotImplementedError, match="edge_softmax_gradient.* has no derivative"):
        calls.edge_softmax_gradient(handle_of(graph), double(E, device=device), double(E, device=device))


LAYERS = {
    "gcn": lambda nn: nn.GCNConv(3, 2),
    "gcn plain": lambda nn: nn.GCNConv(3, 2, normalize=False),
    "gat": lambda nn: nn.GATConv(3, 2, heads=2),
    "gat two": lambda nn: nn.GATConv((3, 3), 2, heads=2),
    "gat features": lambda nn: nn.GATConv(3, 2, heads=2, edge_dim=2),
    "gat features max": lambda nn: nn.GATConv(3, 2, edge_dim=2, fill_value="max"),
    "gat features number": lambda nn: nn.GATConv(3, 2, edge_dim=2, fill_value=0.5),
    "gatv2": lambda nn: nn.GATv2Conv(3, 2, heads=2),
    "gatv2 features": lambda nn: nn.GATv2Conv(3, 2, heads=2, edge_dim=2),
    "transformer": lambda nn: nn.TransformerConv(3, 2, heads=2, beta=True),
    "transformer features": lambda nn: nn.TransformerConv(3, 2, heads=2, edge_dim=2),
    "sage": lambda nn: nn.SAGEConv(3, 2),
    "sage max": lambda nn: nn.SAGEConv(3, 2, aggr="max"),
    "sage several": lambda nn: nn.SAGEConv(3, 2, aggr=["std", "softmax"]),
    "cheb": lambda nn: nn.ChebConv(3, 2, K=3),
    "pna": lambda nn: nn.PNAConv(3, 2, ["mean", "std", "max"], ["identity", "linear"], torch.tensor([1, 2, 9, 4])),
    "gin": lambda nn: nn.GINConv(torch.nn.Linear(3, 2), train_eps=True),
    "appnp": lambda nn: nn.APPNP(K=2, alpha=0.1),
    "sg": lambda nn: nn.SGConv(3, 2, K=2),
}
WEIGHTED = ("gcn", "gcn plain", "appnp", "sg")


def layers(name, device):
    """PyG's and ours with equal weights, and the arguments of forward: without equal edges, of which several are an extremum."""
    pyg = pytest.importorskip("torch_geometric.nn")
    torch.manual_seed(0)
    theirs, mine = (LAYERS[name](nn).to(device).double() for nn in (pyg, rt.nn))
    mine.load_state_dict(theirs.state_dict())
    edges = torch.unique(torch.tensor(make_edges(N, E)), dim=1).to(device)
    extra = ()
    if name in WEIGHTED:
        extra = double(edges.size(1), device=device, seed=9).detach().abs().add(0.1).requires_grad_(),
    if "features" in name:
        extra = double(edges.size(1), 2, device=device, seed=9),
    return theirs, mine, double(N, 3, device=device, seed=4), edges, extra


@pytest.mark.parametrize("name", LAYERS)
def test_gradient_penalties_agree_with_pyg(name, device):
    theirs, mine, x, edges, extra = layers(name, device)
    results = []
    for layer in theirs, mine:
        leaves = [x, *extra, *layer.parameters()]
        gradient = torch.autograd.grad(layer(x, edges, *extra).pow(3).sum(), x, create_graph=True)[0]
        results.append(torch.autograd.grad(gradient.square().sum(), leaves, allow_unused=True))
    for expected, got in zip(*results):
        assert (expected is None or not expected.any()) if got is None else True
        if got is not None and expected is not None:
            torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", LAYERS)
def test_torch_func_of_layers_agrees_with_pyg(name, device):
    theirs, mine, x, edges, extra = layers(name, device)
    x, extra = x.detach(), tuple(e.detach() for e in extra)
    tangent = double(N, 3, device=device, seed=8).detach()
    expected = torch.func.jvp(lambda x: theirs(x, edges, *extra), (x,), (tangent,))
    for got, want in zip(torch.func.jvp(lambda x: mine(x, edges, *extra), (x,), (tangent,)), expected):
        torch.testing.assert_close(got, want)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, tangent)
        torch.testing.assert_close(torch.autograd.forward_ad.unpack_dual(mine(dual, edges, *extra)).tangent, expected[1])

    def loss(parameters, x, edges, layer):  # an edge_index that torch.func has wrapped
        return torch.func.functional_call(layer, parameters, (x, edges, *extra)).square().sum()

    gradients = [torch.func.grad(loss)(dict(layer.named_parameters()), x, edges, layer) for layer in (theirs, mine)]
    for key, value in gradients[0].items():
        torch.testing.assert_close(gradients[1][key], value)
    jacobian = torch.func.jacrev(lambda x: theirs(x, edges, *extra))(x)
    for transform in torch.func.jacrev, torch.func.jacfwd:
        torch.testing.assert_close(transform(lambda x: mine(x, edges, *extra))(x), jacobian)
    batch = torch.stack([x, 2 * x, -x])
    mapped = torch.func.vmap(lambda x: mine(x, edges, *extra))(batch)
    torch.testing.assert_close(mapped, torch.stack([mine(b, edges, *extra) for b in batch]))


@pytest.mark.parametrize("name", [name for name in LAYERS if name != "pna"])  # PyG's takes one set of features
def test_batches_of_features_on_one_graph(name, device):
    theirs, mine, x, edges, extra = layers(name, device)
    batch = torch.stack([x.detach(), 2 * x.detach(), -x.detach()])
    each = torch.stack([mine(b, edges, *extra) for b in batch])
    torch.testing.assert_close(mine(batch, edges, *extra), each)
    torch.testing.assert_close(mine(batch.view(3, 1, N, 3), edges, *extra), each.unsqueeze(1))
    if not name.startswith(("gat", "transformer")):  # PyG's attention takes one set of features
        torch.testing.assert_close(mine(batch, edges, *extra), theirs(batch, edges, *extra))
    if name.startswith(("gat", "transformer", "sage")):
        torch.testing.assert_close(mine([x, x], edges, *extra), mine((x, x), edges, *extra))
    with pytest.raises(ValueError, match=r"x must be \[nodes, features\]"):
        rt.nn.GCNConv(3, 2)(torch.zeros(3), torch.zeros(2, 1, dtype=torch.int64))


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore::DeprecationWarning")
def test_traced_layers_compute(name, device):
    _, mine, x, edges, extra = layers(name, device)
    x, extra = x.detach(), tuple(e.detach() for e in extra)
    traced = torch.jit.trace(mine.eval(), (x, edges, *extra))
    assert "rodeo::" in str(traced.inlined_graph)
    torch.testing.assert_close(traced(x, edges, *extra), mine(x, edges, *extra))
    other = edges.flip(1).roll(1, 0)  # another graph: the trace looks it up
    torch.testing.assert_close(traced(2 * x, other, *extra), mine(2 * x, other, *extra))
