"""rodeo.torch.nn beside torch_geometric.nn: state_dict, outputs, gradients, compilation."""
import gc

import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo  # noqa: E402
import rodeo.torch.nn as ours  # noqa: E402
from conftest import make_edges  # noqa: E402

N = 50


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))


def pna(nn, scalers=("identity", "amplification", "attenuation"), **more):
    return nn.PNAConv(6, 4, ["mean", "min", "max", "sum", "var", "std"], list(scalers), torch.tensor([1, 3, 9, 20, 9, 8]), **more)


CASES = {
    "gcn": lambda nn: nn.GCNConv(6, 4),
    "gcn wide": lambda nn: nn.GCNConv(6, 9),
    "gcn improved": lambda nn: nn.GCNConv(6, 4, improved=True, bias=False),
    "gcn plain": lambda nn: nn.GCNConv(6, 4, normalize=False),
    "gcn no loops": lambda nn: nn.GCNConv(6, 4, add_self_loops=False),
    "gat": lambda nn: nn.GATConv(6, 4),
    "gat heads": lambda nn: nn.GATConv(6, 4, heads=3),
    "gat mean": lambda nn: nn.GATConv(6, 4, heads=3, concat=False, negative_slope=0.1, residual=True),
    "gat no loops": lambda nn: nn.GATConv(6, 4, heads=2, add_self_loops=False, bias=False),
    "gat two": lambda nn: nn.GATConv((6, 6), 4, heads=2),
    "gatv2": lambda nn: nn.GATv2Conv(6, 4, heads=2),
    "gatv2 two": lambda nn: nn.GATv2Conv((6, 6), 4, heads=2),
    "gatv2 shared": lambda nn: nn.GATv2Conv(6, 4, heads=2, share_weights=True, concat=False),
    "gatv2 residual": lambda nn: nn.GATv2Conv(6, 4, heads=2, residual=True, add_self_loops=False),
    "transformer": lambda nn: nn.TransformerConv(6, 4, heads=2),
    "transformer two": lambda nn: nn.TransformerConv((6, 6), 4, heads=3, concat=False, beta=True),
    "transformer no root": lambda nn: nn.TransformerConv(6, 4, heads=2, root_weight=False, bias=False),
    "sage": lambda nn: nn.SAGEConv(6, 4),
    "sage sum": lambda nn: nn.SAGEConv(6, 9, aggr="sum", bias=False),
    "sage two": lambda nn: nn.SAGEConv((6, 6), 4),
    "sage max": lambda nn: nn.SAGEConv(6, 4, aggr="max", normalize=True),
    "sage project": lambda nn: nn.SAGEConv(6, 4, aggr="min", project=True, root_weight=False),
    "sage std": lambda nn: nn.SAGEConv(6, 4, aggr="std"),
    "sage softmax": lambda nn: nn.SAGEConv((6, 6), 4, aggr="softmax"),
    "sage several": lambda nn: nn.SAGEConv(6, 4, aggr=["mean", "max", "var", "std", "softmax"]),
    "cheb": lambda nn: nn.ChebConv(6, 4, K=4),
    "cheb rw": lambda nn: nn.ChebConv(6, 4, K=2, normalization="rw", bias=False),
    "cheb plain": lambda nn: nn.ChebConv(6, 4, K=3, normalization=None),
    "pna": lambda nn: pna(nn),
    "pna towers": lambda nn: pna(nn, towers=2, divide_input=True, train_norm=True, scalers=["linear", "inverse_linear"]),
    "pna deep": lambda nn: pna(nn, towers=2, pre_layers=2, post_layers=2, act="leaky_relu", act_kwargs={"negative_slope": 0.3}),
    "graph": lambda nn: nn.GraphConv(6, 4),
    "graph two": lambda nn: nn.GraphConv((6, 6), 9, aggr="mean", bias=False),
    "gin": lambda nn: nn.GINConv(mlp(), eps=0.3),
    "gin eps": lambda nn: nn.GINConv(mlp(), train_eps=True),
    "appnp": lambda nn: nn.APPNP(K=4, alpha=0.2),
    "appnp plain": lambda nn: nn.APPNP(K=2, alpha=0.1, add_self_loops=False),
    "sg": lambda nn: nn.SGConv(6, 4, K=3),
    "sg cached": lambda nn: nn.SGConv(6, 4, K=2, cached=True, bias=False),
}
WEIGHTED = [name for name in CASES if name.split()[0] in ("gcn", "appnp", "cheb", "sg", "graph") and "cached" not in name]


def pair(case, device):
    torch.manual_seed(0)
    theirs, mine = CASES[case](pyg).to(device), CASES[case](ours).to(device)
    assert list(theirs.state_dict()) == list(mine.state_dict())
    mine.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(mine.state_dict())
    return theirs, mine


def compare(theirs, mine, x, edge_index, for_mine, *weights):
    results = []
    for layer, edges in (theirs, edge_index), (mine, for_mine):
        inputs = [x.detach().clone().requires_grad_()] + [w.detach().clone().requires_grad_() for w in weights]
        layer.zero_grad()
        y = layer(inputs[0], edges, *inputs[1:])
        y.square().sum().backward()
        results.append([y.detach()] + [i.grad for i in inputs] + [p.grad for p in layer.parameters()])
    for expected, got in zip(*results):
        assert (expected is None) == (got is None)
        if expected is not None:  # sums of large terms of both signs: the largest element says how far they may differ
            largest = expected.abs().max().item() if expected.numel() else 0.0
            torch.testing.assert_close(got, expected, atol=2e-4 * max(1.0, largest), rtol=2e-4)


@pytest.mark.parametrize("case", CASES)
def test_layers_agree_with_pyg(case, device):
    theirs, mine = pair(case, device)
    edges = torch.tensor(make_edges(N, 300), device=device)
    x = torch.randn(N, 6, device=device)
    compare(theirs, mine, x, edges, edges)
    if "cached" not in case:
        compare(theirs, mine, x, edges, rodeo.Graph.from_edge_index(edges, N))


@pytest.mark.parametrize("case", WEIGHTED)
def test_edge_weights_and_their_gradients(case, device):
    theirs, mine = pair(case, device)
    # Without equal edges: PyG also gives gradients to those of several self loops that it drops.
    edges = torch.unique(torch.tensor(make_edges(N, 300)), dim=1).to(device)
    compare(theirs, mine, torch.randn(N, 6, device=device), edges, edges, torch.rand(edges.size(1), device=device) + 0.1)


FEATURES = {
    "gat": lambda nn: nn.GATConv(6, 4, edge_dim=3),
    "gat heads": lambda nn: nn.GATConv(6, 4, heads=3, edge_dim=3, residual=True, fill_value=0.5),
    "gat no loops": lambda nn: nn.GATConv(6, 4, heads=2, edge_dim=3, add_self_loops=False, concat=False),
    "gat one": lambda nn: nn.GATConv(6, 4, heads=2, edge_dim=1, fill_value="add"),
    "gat max": lambda nn: nn.GATConv(6, 4, heads=2, edge_dim=3, fill_value="max"),
    "gat tensor": lambda nn: nn.GATConv(6, 4, edge_dim=3, fill_value=torch.tensor([1.0, -2.0, 0.5])),
    "gatv2": lambda nn: nn.GATv2Conv(6, 4, heads=2, edge_dim=3),
    "gatv2 min": lambda nn: nn.GATv2Conv(6, 4, heads=2, edge_dim=3, fill_value="min", share_weights=True, residual=True),
    "gatv2 no loops": lambda nn: nn.GATv2Conv(6, 4, edge_dim=3, add_self_loops=False, bias=False),
    "pna": lambda nn: pna(nn, towers=2, edge_dim=3),
}


@pytest.mark.parametrize("case", FEATURES)
def test_edge_features_and_their_gradients(case, device):
    torch.manual_seed(0)
    theirs, mine = FEATURES[case](pyg).to(device), FEATURES[case](ours).to(device)
    assert list(theirs.state_dict()) == list(mine.state_dict())
    mine.load_state_dict(theirs.state_dict())
    edges = torch.tensor(make_edges(N, 300), device=device)  # with equal edges, self loops, a node without edges
    x, features = torch.randn(N, 6, device=device), torch.randn(300, mine.edge_dim, device=device)
    compare(theirs, mine, x, edges, edges, features)
    compare(theirs, mine, x, edges, rodeo.Graph.from_edge_index(edges, N), features)
    if case == "pna":  # has features always
        return
    compare(theirs, mine, x, edges, edges)  # the layer without features
    if mine.edge_dim == 1:
        compare(theirs, mine, x, edges, edges, features[:, 0])
    if mine.add_self_loops:
        compare(theirs, mine, x, edges[:, :0], edges[:, :0], features[:0])


@pytest.mark.parametrize("options", [{}, {"beta": True, "concat": False}])
def test_transformer_with_edge_features(options, device):
    torch.manual_seed(0)
    theirs, mine = (nn.TransformerConv(6, 4, heads=2, edge_dim=3, **options).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    edges = torch.tensor(make_edges(N, 300), device=device)
    x, features = torch.randn(N, 6, device=device), torch.randn(300, 3, device=device)
    compare(theirs, mine, x, edges, edges, features)
    y, (ends, weights) = mine(x, edges, features, return_attention_weights=True)
    expected, (_, alpha) = theirs(x, edges, features, return_attention_weights=True)
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(weights.sort(dim=0).values, alpha.sort(dim=0).values, atol=1e-5, rtol=1e-5)
    assert ends.shape == edges.shape


def test_edge_features_of_wrong_sizes_are_refused():
    edges, x = torch.tensor(make_edges(N, 300)), torch.randn(N, 6)
    layer = ours.GATConv(6, 4, edge_dim=3)
    for features, text in [(torch.zeros(300, 2), r"\[edges, 3\]"), (torch.zeros(299, 3), r"\[300, n\]"),
                           (torch.zeros(300), r"\[edges, 3\]"), (torch.zeros(300, 1, 3), r"\[edges, 3\]")]:
        with pytest.raises(ValueError, match=text):
            layer(x, edges, features)
    with pytest.raises(ValueError, match="without edge_dim"):
        ours.GATv2Conv(6, 4)(x, edges, torch.zeros(300, 3))
    with pytest.raises(ValueError, match="3 elements"):
        ours.GATConv(6, 4, edge_dim=3, fill_value=torch.zeros(2))(x, edges, torch.zeros(300, 3))


@pytest.mark.parametrize("make", [lambda nn: nn.SAGEConv((6, 5), 4), lambda nn: nn.GATConv((6, 5), 4, heads=2),
                                  lambda nn: nn.GATv2Conv((6, 5), 4, heads=2)])
def test_bipartite_layers(make, device):
    theirs, mine = make(pyg).to(device), make(ours).to(device)
    mine.load_state_dict(theirs.state_dict())
    edges = torch.tensor(make_edges(30, 200, sources=40), device=device)
    x = torch.randn(40, 6, device=device), torch.randn(30, 5, device=device)
    torch.testing.assert_close(mine(x, edges), theirs(x, edges), atol=1e-4, rtol=1e-4)  # PyG adds loops i -> i here, too
    graph = rodeo.Graph.from_edge_index(edges, 30, num_sources=40)
    torch.testing.assert_close(mine(x, graph), theirs(x, edges), atol=1e-4, rtol=1e-4)


def test_bipartite_edge_features(device):
    theirs, mine = (nn.GATConv((6, 5), 4, edge_dim=3).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    edges, features = torch.tensor(make_edges(30, 200, sources=40), device=device), torch.randn(200, 3, device=device)
    x = torch.randn(40, 6, device=device), torch.randn(30, 5, device=device)
    results = []
    for layer in theirs, mine:
        layer.zero_grad()
        f = features.clone().requires_grad_()
        layer(x, edges, f).square().sum().backward()
        results.append((f.grad, layer.lin_edge.weight.grad))
    for expected, got in zip(*results):
        torch.testing.assert_close(got, expected, atol=1e-3, rtol=1e-3)


def test_attention_without_targets(device):
    theirs, mine = pyg.GATConv((6, 6), 4, heads=2).to(device), ours.GATConv((6, 6), 4, heads=2).to(device)
    mine.load_state_dict(theirs.state_dict())
    edges, x = torch.tensor(make_edges(30, 200, sources=40), device=device), torch.randn(40, 6, device=device)
    expected = theirs((x, None), edges, size=(40, 30))
    torch.testing.assert_close(mine((x, None), edges, size=(40, 30)), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_attention_weights(name, device):
    theirs, mine = (getattr(nn, name)(6, 4, heads=2).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    edges = torch.unique(torch.tensor(make_edges(N, 300)), dim=1).to(device)
    x = torch.randn(N, 6, device=device)
    (y, (ends, weights)), (z, (their_ends, their_weights)) = (layer(x, edges, return_attention_weights=True) for layer in (mine, theirs))
    torch.testing.assert_close(y, z, atol=1e-4, rtol=1e-4)
    ours_by, theirs_by = (torch.argsort(e[1] * N + e[0]) for e in (ends, their_ends))
    assert torch.equal(ends[:, ours_by], their_ends[:, theirs_by]) and ends.dtype == their_ends.dtype
    torch.testing.assert_close(weights[ours_by], their_weights[theirs_by], atol=1e-4, rtol=1e-4)


class Net(torch.nn.Module):
    def __init__(self, nn):
        super().__init__()
        self.conv1, self.conv2 = nn.GCNConv(6, 8), nn.GATConv(8, 3, heads=2, concat=False, dropout=0.0)

    def forward(self, x, edges):
        return self.conv2(torch.relu(self.conv1(x, edges)), edges)


def test_networks_compile(device):
    edges = torch.tensor(make_edges(N, 300), device=device)
    graph = rodeo.Graph.from_edge_index(edges, N)
    x = torch.randn(N, 6, device=device)
    net = Net(ours).to(device)
    expected = net(x, graph)
    torch.testing.assert_close(torch.compile(net, fullgraph=True, backend="aot_eager")(x, graph), expected)


@pytest.mark.parametrize("name", ["GCNConv", "GATConv", "GATv2Conv", "SAGEConv"])
def test_compiled_layers_take_another_graph(name, device):
    torch._dynamo.reset()
    layer = getattr(ours, name)(6, 4).to(device)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x = torch.randn(N, 6, device=device)
    for seed in 0, 1, 2:
        graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, 300, seed=seed), device=device), N)
        torch.testing.assert_close(compiled(x, graph), layer(x, graph))


@pytest.mark.parametrize("case", FEATURES)
def test_layers_with_edge_features_compile_with_a_graph(case, device):
    torch._dynamo.reset()
    layer = FEATURES[case](ours).to(device)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    x, features = torch.randn(N, 6, device=device), torch.randn(300, layer.edge_dim, device=device)
    for seed in 0, 1:  # the compiled layer is the first to look at a graph
        graph = rodeo.Graph.from_edge_index(torch.tensor(make_edges(N, 300, seed=seed), device=device), N)
        y = compiled(x, graph, features)
        torch.testing.assert_close(y, layer(x, graph, features))


@pytest.mark.parametrize("of_edges", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_graphs_freed_before_backward(case, of_edges, device):
    layer = CASES[case](ours).to(device)
    weights = [torch.rand(300, device=device)] if case in WEIGHTED else []
    first, second = (torch.tensor(make_edges(N, 300, seed=seed), device=device) for seed in (0, 1))
    graph = first if of_edges else rodeo.Graph.from_edge_index(first, N)
    x = torch.randn(N, 6, device=device, requires_grad=True)
    y = layer(x, graph, *weights)
    expected, = torch.autograd.grad(y.sum(), x, retain_graph=True)
    del graph, first
    gc.collect()
    if "cached" not in case:
        layer(x.detach(), second, *weights)  # of another graph: that of a freed edge_index is dropped
    y.sum().backward()
    assert torch.equal(x.grad, expected)


COMPILED = {**CASES, **{f"features {name}": make for name, make in FEATURES.items()}}


def built_graphs(monkeypatch):
    """A list that grows with each Graph.from_edge_index."""
    built, original = [], rodeo.Graph.from_edge_index.__func__

    def counting(cls, *args, **kwargs):
        built.append(1)
        return original(cls, *args, **kwargs)

    monkeypatch.setattr(rodeo.Graph, "from_edge_index", classmethod(counting))
    return built


@pytest.mark.parametrize("case", COMPILED)
def test_layers_compile_with_an_edge_index(case, device, monkeypatch):
    torch._dynamo.reset()
    torch.manual_seed(0)
    layer = COMPILED[case](ours).to(device)
    if "cached" in case:
        pytest.skip("a cached layer keeps its first result")
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    built = built_graphs(monkeypatch)
    for seed in 0, 1:  # another edge_index of the same shape is another graph, with another number of self loops
        edges = torch.unique(torch.tensor(make_edges(N, 300, seed=seed)), dim=1)[:, :260].to(device)
        weights = [torch.rand(260, device=device) + 0.1] if case in WEIGHTED else []
        if "features" in case:
            weights = [torch.randn(260, layer.edge_dim, device=device)]
        compare(layer, compiled, torch.randn(N, 6, device=device), edges, edges, *weights)
        count = len(built)
        compare(layer, compiled, torch.randn(N, 6, device=device), edges, edges, *weights)
        assert len(built) == count  # forward and backward found the graph of before


def test_networks_compile_with_an_edge_index_in_inductor(device):
    torch._dynamo.reset()
    net = Net(ours).to(device)
    compiled = torch.compile(net, fullgraph=True)
    for count in 300, 200, 150:
        edges, x = torch.tensor(make_edges(N, count, seed=count), device=device), torch.randn(N, 6, device=device)
        try:
            compare(net, compiled, x, edges, edges)
        except getattr(torch._inductor.exc, "InductorError", ()) as error:  # PyTorch 2.4 has none
            pytest.skip(f"no compiler for PyTorch here: {error}")
        edges[0, 0] = (edges[0, 0] + 1) % N  # in place
        compare(net, compiled, x, edges, edges)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
def test_compiled_cuda_graphs_see_another_edge_index(device):
    torch._dynamo.reset()
    net = Net(ours).to(device)
    compiled = torch.compile(net, fullgraph=True, mode="reduce-overhead")
    x = torch.randn(N, 6, device=device)
    edges = [torch.tensor(make_edges(N, 300, seed=seed), device=device) for seed in (0, 1)]
    with torch.no_grad():
        for i in 0, 0, 0, 0, 1, 1, 0:
            torch.testing.assert_close(compiled(x, edges[i]).clone(), net(x, edges[i]), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("device", ["cuda"], indirect=True)
@pytest.mark.parametrize("name, fill", [("GATConv", "mean"), ("GATv2Conv", "max")])
def test_cuda_graphs_capture_layers_with_edge_features(name, fill, device):
    layer = getattr(ours, name)(6, 4, heads=2, edge_dim=3, fill_value=fill).to(device)
    edges, x = torch.tensor(make_edges(N, 300), device=device), torch.randn(N, 6, device=device)
    features = torch.randn(300, 3, device=device, requires_grad=True)

    def step():
        layer.zero_grad()
        features.grad = None
        y = layer(x, edges, features)
        y.square().sum().backward()
        return y

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    expected = step().detach().clone(), features.grad.clone()
    captured = torch.cuda.CUDAGraph()
    layer.zero_grad(set_to_none=True)
    features.grad = None
    with torch.cuda.graph(captured):
        y = step()
    captured.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, expected[0]) and torch.equal(features.grad, expected[1])


def test_networks_train_under_autocast(device):
    edges = torch.tensor(make_edges(N, 300), device=device)
    net, x, y = Net(ours).to(device), torch.randn(N, 6, device=device), torch.randint(0, 3, (N,), device=device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    losses = []
    for _ in range(30):
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(net(x, edges), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_dropout_is_drawn_from_pytorchs_generator(device):
    layer = ours.GATConv(6, 4, dropout=0.5).to(device)
    edges, x = torch.tensor(make_edges(N, 300), device=device), torch.randn(N, 6, device=device)
    results = []
    for seed in 1, 1, 2:
        torch.manual_seed(seed)
        results.append(layer(x, edges))
    assert torch.equal(results[0], results[1]) and not torch.equal(results[0], results[2])
    layer.eval()
    assert torch.equal(layer(x, edges), layer(x, edges))


def test_arguments_that_change_the_result_are_refused():
    for make, text in [(lambda: ours.GCNConv(0, 4), "positive number, or -1"), (lambda: ours.GATConv(6, 4, edge_dim=0), "edge_dim"),
                       (lambda: ours.GATv2Conv(6, 4, fill_value="mul"), "fill_value"),
                       (lambda: ours.SAGEConv(6, 4, aggr="lstm"), "aggr"), (lambda: ours.GCNConv(6, 4, aggr="max"), "aggr"),
                       (lambda: ours.GCNConv(6, 4, flow="target_to_source"), "flow"),
                       (lambda: ours.GCNConv(6, 4, add_self_loops=True, normalize=False), "self-loops")]:
        with pytest.raises(ValueError, match=text):
            make()
    with pytest.raises(TypeError, match="no argument"):
        ours.GCNConv(6, 4, wings=2)
    layer = ours.GCNConv(6, 4)
    layer.flow = "source_to_target"
    with pytest.raises(ValueError, match="flow must be"):
        layer.flow = "target_to_source"
    with pytest.raises(ValueError, match="targets"):
        ours.GCNConv(6, 4)(torch.zeros(5, 6), rodeo.Graph.from_edge_index(torch.zeros(2, 1, dtype=torch.int64), 3))
    with pytest.raises(ValueError, match="dense tensor"):
        ours.GCNConv(6, 4)(torch.zeros(5, 6), [[0], [1]])
