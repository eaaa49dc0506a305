"""What else a drop-in takes: sparse adjacencies, lazy widths, equal seeds, reprs, GINEConv, and PyG's models."""
import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo.torch as rt  # noqa: E402
import rodeo.torch.nn as ours  # noqa: E402
from conftest import make_edges  # noqa: E402

N = 30


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 4))


def pna(nn):
    return nn.PNAConv(6, 4, ["mean", "std", "max"], ["identity", "attenuation"], torch.tensor([1, 3, 9, 20, 9]), towers=2)


LAYERS = {
    "gcn": lambda nn, width=6: nn.GCNConv(width, 4),
    "gcn wide": lambda nn, width=6: nn.GCNConv(width, 9),
    "gat": lambda nn, width=6: nn.GATConv(width, 4, heads=2, residual=True),
    "gat features": lambda nn, width=6: nn.GATConv((width, width), 4, heads=2, edge_dim=1),
    "gatv2": lambda nn, width=6: nn.GATv2Conv(width, 4, heads=2),
    "gatv2 shared": lambda nn, width=6: nn.GATv2Conv(width, 4, heads=2, share_weights=True, edge_dim=1),
    "transformer": lambda nn, width=6: nn.TransformerConv(width, 4, heads=2, beta=True),
    "sage": lambda nn, width=6: nn.SAGEConv(width, 4),
    "sage max": lambda nn, width=6: nn.SAGEConv((width, width), 9, aggr="max"),
    "sage softmax": lambda nn, width=6: nn.SAGEConv(width, 4, aggr="softmax"),
    "cheb": lambda nn, width=6: nn.ChebConv(width, 4, K=2),
    "pna": lambda nn, width=6: pna(nn),
    "graph": lambda nn, width=6: nn.GraphConv(width, 4),
    "gin": lambda nn, width=6: nn.GINConv(mlp()),
    "sg": lambda nn, width=6: nn.SGConv(width, 4, K=2),
    "appnp": lambda nn, width=6: nn.APPNP(K=2, alpha=0.1),
}


def pair(make, device, **given):
    torch.manual_seed(3)
    theirs = make(pyg, **given).to(device)
    torch.manual_seed(3)
    return theirs, make(ours, **given).to(device)


def edges_of(device):
    return torch.unique(torch.tensor(make_edges(N, 150)), dim=1).contiguous().to(device)


@pytest.mark.parametrize("name", LAYERS)
def test_equal_seeds_give_equal_weights_and_reprs(name, device):
    theirs, mine = pair(LAYERS[name], device)
    assert repr(mine) == repr(theirs)
    assert list(theirs.state_dict()) == list(mine.state_dict())
    for key, value in theirs.state_dict().items():
        assert torch.equal(mine.state_dict()[key], value), key
    theirs.reset_parameters()
    torch.manual_seed(5)
    theirs.reset_parameters()
    torch.manual_seed(5)
    mine.reset_parameters()
    for key, value in theirs.state_dict().items():
        assert torch.equal(mine.state_dict()[key], value), key


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "EdgeIndex", "SparseTensor"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_sparse_adjacencies(name, weighted, layout, device):
    theirs, mine = pair(LAYERS[name], device)
    edges, x = edges_of(device), torch.randn(N, 6, device=device)
    x = (x, x) if "((" in repr(mine) else x
    values = torch.rand(edges.size(1), device=device) + 0.5 if weighted else torch.ones(edges.size(1), device=device)
    plain = (edges,)
    if weighted and name.split()[0] in ("gcn", "graph", "sg", "appnp", "cheb"):
        plain = edges, values
    if "features" in name or "shared" in name:
        plain = edges, values
    if layout == "EdgeIndex":
        given = pytest.importorskip("torch_geometric").EdgeIndex(edges, sparse_size=(N, N)), *plain[1:]
    elif layout == "SparseTensor":
        given = SparseTensor(edges, values),
        if weighted and name in ("gcn", "gcn wide", "sg", "appnp"):  # PyG puts ones on its diagonal
            plain = edges, values.masked_fill(edges[0] == edges[1], 1.0)
    else:
        adj = torch.sparse_coo_tensor(edges.flip(0), values, (N, N)).coalesce()
        given = {"coo": adj, "csr": adj.to_sparse_csr(), "csc": adj.to_sparse_csc()}[layout],
        if name in ("gcn", "gcn wide", "sg", "appnp"):  # PyG adds ones to its diagonal, and takes no CSC there
            plain = adj if layout == "csc" else given[0],
        if weighted and name in ("sage", "sage max", "gin"):  # as in PyG, its values count, and those of a SparseTensor do not
            if name != "sage max":
                torch.testing.assert_close(mine(x, *given), theirs(x, *given))
            return
    assert (edges[0] == edges[1]).any()
    if layout == "SparseTensor" and weighted and name.split()[0] in ("sage", "gin"):
        pytest.skip("values of a SparseTensor are ignored by these layers in PyG")
    torch.testing.assert_close(mine(x, *given), theirs(x, *plain), atol=1e-5, rtol=1e-5)


class SparseTensor:
    """What rodeo asks of a torch_sparse.SparseTensor: adj[i, j] is an edge j -> i."""

    def __init__(self, edges, values):
        adj = torch.sparse_coo_tensor(edges.flip(0), values, (N, N)).coalesce().to_sparse_csr()
        self.parts = adj.crow_indices(), adj.col_indices(), adj.values()

    def csr(self):
        return self.parts

    def sparse_sizes(self):
        return N, N


def test_graphs_of_sparse_adjacencies_are_kept(device):
    adj = torch.sparse_coo_tensor(edges_of(device).flip(0), torch.ones(edges_of(device).size(1), device=device), (N, N)).coalesce()
    for matrix in adj, adj.to_sparse_csr(), adj.to_sparse_csc():
        assert rt.graph_of(matrix, N) is rt.graph_of(matrix, N)


def test_sizes_and_attention_weights_of_sparse_adjacencies(device):
    edges, x = torch.tensor([[0, 1, 2, 3], [0, 0, 1, 1]], device=device), torch.randn(4, 6, device=device)
    given = pytest.importorskip("torch_geometric").EdgeIndex(edges, sparse_size=(4, 2))
    for name in "sage", "graph":
        _, mine = pair(LAYERS[name], device)
        torch.testing.assert_close(mine((x, None), given), mine((x, None), edges, size=(4, 2)))
    adj = torch.sparse_coo_tensor(edges.flip(0), torch.ones(4, device=device), (4, 4)).coalesce()
    for name in "gat", "gatv2":
        _, mine = pair(LAYERS[name], device)
        y, (ends, weight) = mine(x, edges, return_attention_weights=True)
        of_sparse, (attention, of_sparse_weight) = mine(x, adj, return_attention_weights=True)
        assert torch.equal(y, of_sparse) and torch.equal(weight, of_sparse_weight) and attention.shape == (4, 4, 2)
        torch.testing.assert_close(attention.to_dense()[ends[1], ends[0]], weight)


@pytest.mark.parametrize("name", [name for name in LAYERS if name not in ("gin", "appnp", "pna")])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lazy_widths(name, device):
    theirs, mine = pair(LAYERS[name], device, width=-1)
    edges, x = edges_of(device), torch.randn(N, 6, device=device)
    x = (x, x) if "((" in repr(mine) else x
    assert repr(mine) == repr(theirs)
    theirs(x, edges)
    mine(x, edges)
    mine.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(mine(x, edges), theirs(x, edges), atol=1e-5, rtol=1e-5)
    fresh = LAYERS[name](ours, width=-1).to(device)
    fresh.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(fresh(x, edges), theirs(x, edges), atol=1e-5, rtol=1e-5)


def test_weights_of_one_column_and_sparse_features(device):
    edges = edges_of(device)
    weight, x = torch.rand(edges.size(1), 1, device=device), torch.randn(N, 6, device=device).relu()
    for name in "gcn", "sg", "graph", "appnp", "cheb":
        _, mine = pair(LAYERS[name], device)
        torch.testing.assert_close(mine(x, edges, weight), mine(x, edges, weight[:, 0]))
    for name in "gcn", "gcn wide", "gat", "sage":
        theirs, mine = pair(LAYERS[name], device)
        torch.testing.assert_close(mine(x.to_sparse(), edges), theirs(x, edges), atol=1e-5, rtol=1e-5)
    for name in "sg", "graph", "appnp", "gin":
        for sparse in x.to_sparse(), x.to_sparse_csr():
            with pytest.raises(ValueError, match="x is sparse.* give x.to_dense"):
                pair(LAYERS[name], device)[1](sparse, edges)


@pytest.mark.parametrize("edge_dim", [None, 3])
def test_gine(edge_dim, device):
    theirs, mine = pair(lambda nn: nn.GINEConv(mlp(), edge_dim=edge_dim, train_eps=True).double(), device)
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(value, mine.state_dict()[key]) for key, value in theirs.state_dict().items())  # of equal seeds
    edges = edges_of(device)
    x = torch.randn(N, 6, device=device, dtype=torch.float64, requires_grad=True)
    features = torch.randn(edges.size(1), edge_dim or 6, device=device, dtype=torch.float64, requires_grad=True)
    y, expected = mine(x, edges, features), theirs(x, edges, features)
    torch.testing.assert_close(y, expected)
    leaves = x, features, theirs.nn[0].weight
    ours_leaves = x, features, mine.nn[0].weight
    for got, want in zip(torch.autograd.grad(y.pow(2).sum(), ours_leaves), torch.autograd.grad(expected.pow(2).sum(), leaves)):
        torch.testing.assert_close(got, want)
    batch = torch.stack([x, -x])
    torch.testing.assert_close(mine(batch, edges, features), torch.stack([mine(b, edges, features) for b in batch]))
    with pytest.raises(ValueError, match="GINEConv"):
        ours.GINEConv(mlp())(x.float(), edges, features[:, :2].float())


def test_what_new_layers_refuse():
    deg = torch.tensor([0, 3, 2])
    for make in (lambda: ours.SAGEConv(6, 4, aggr="median"), lambda: ours.SAGEConv(6, 4, aggr=["mean", "lstm"]),
                 lambda: ours.PNAConv(6, 4, ["mean", "mul"], ["identity"], deg)):
        with pytest.raises(ValueError, match="aggr must be mean, .*use torch_geometric.nn for it"):
            make()
    for make, text in ((lambda: ours.PNAConv(6, 4, ["mean"], ["log"], deg), "scalers must be some of identity"),
                       (lambda: ours.PNAConv(6, 4, ["mean"], ["linear"], deg, towers=3), "multiples of towers=3"),
                       (lambda: ours.PNAConv(6, 4, ["mean"], ["linear"], deg, act="rely", pre_layers=2), "act must be"),
                       (lambda: ours.PNAConv(6, 4, ["mean"], ["linear"], deg)(torch.zeros(3, 2, 6), torch.zeros(2, 0).long()),
                        "x must be .nodes, 6., got .* each x of the batch"),
                       (lambda: ours.PNAConv(6, 4, ["mean"], ["linear"], deg, edge_dim=2)(torch.zeros(2, 6), torch.zeros(2, 0).long()),
                        "edge_attr is missing"),
                       (lambda: ours.SAGEConv(6, 4, aggr="softmax", aggr_kwargs={"t": 2}), "aggr_kwargs must be None .*use torch_geometric.nn"),
                       (lambda: ours.ChebConv(6, 4, K=0), "K must be"), (lambda: ours.ChebConv(6, 4, 2, "row"), "normalization must")):
        with pytest.raises(ValueError, match=text):
            make()


MODELS = {
    "gcn": lambda nn: nn.GCN(6, 8, 2, 4, dropout=0.5),
    "sage": lambda nn: nn.GraphSAGE(6, 8, num_layers=3, out_channels=4, norm="batch_norm", jk="cat"),
    "gin": lambda nn: nn.GIN(6, 8, num_layers=2, out_channels=4, norm="layer_norm"),
    "gat": lambda nn: nn.GAT(6, 8, num_layers=2, out_channels=4, heads=2, act="elu"),
    "gatv2": lambda nn: nn.GAT(6, 8, num_layers=3, out_channels=4, v2=True, heads=4),
    "pna": lambda nn: nn.PNA(6, 8, num_layers=2, out_channels=4, aggregators=["mean", "std"], scalers=["identity", "amplification"],
                             deg=torch.tensor([1, 3, 9, 20, 9])),
}


@pytest.mark.parametrize("name", MODELS)
def test_models(name, device):
    theirs, mine = pair(MODELS[name], device)
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        assert torch.equal(mine.state_dict()[key], value), key
    assert all(type(conv).__module__.startswith("rodeo.") for conv in mine.convs)
    edges, x = edges_of(device), torch.randn(N, 6, device=device)
    torch.testing.assert_close(mine.eval()(x, edges), theirs.eval()(x, edges), atol=1e-4, rtol=1e-4)


def test_unknown_names_of_the_module():
    with pytest.raises(AttributeError, match="has no attribute 'EdgeConv'"):
        ours.EdgeConv
