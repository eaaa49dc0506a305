"""Tools of PyG that look for MessagePassing: to_hetero, HeteroConv, explainers, and the sentences of what cannot work."""
import copy
import io
import pickle

import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo.torch.nn as ours  # noqa: E402
from conftest import make_edges  # noqa: E402

N = 30
CONVS = {
    "gcn": lambda nn: nn.GCNConv(6, 6),
    "gcn plain": lambda nn: nn.GCNConv(6, 6, normalize=False),
    "sg": lambda nn: nn.SGConv(6, 6, K=2),
    "appnp": lambda nn: nn.APPNP(K=2, alpha=0.1),
    "sage": lambda nn: nn.SAGEConv(6, 6),
    "sage softmax": lambda nn: nn.SAGEConv(6, 6, aggr="softmax"),
    "graph": lambda nn: nn.GraphConv(6, 6, aggr="max"),
    "gin": lambda nn: nn.GINConv(torch.nn.Linear(6, 6)),
    "gat": lambda nn: nn.GATConv(6, 3, heads=2),
    "gatv2": lambda nn: nn.GATv2Conv(6, 3, heads=2, add_self_loops=False),
    "transformer": lambda nn: nn.TransformerConv(6, 3, heads=2),
    "cheb": lambda nn: nn.ChebConv(6, 6, K=3),
    "pna": lambda nn: nn.PNAConv(6, 6, ["mean", "std", "max"], ["identity", "linear"], torch.tensor([1, 2, 9, 4])),
}


class Net(torch.nn.Module):
    def __init__(self, make, nn):
        super().__init__()
        self.conv1, self.conv2 = make(nn), make(nn)

    def forward(self, x, edge_index):
        return self.conv2(self.conv1(x, edge_index).relu(), edge_index)


def explained(model, x, edges):
    from torch_geometric.explain import Explainer, GNNExplainer
    explainer = Explainer(model, GNNExplainer(epochs=5), "model", node_mask_type="attributes", edge_mask_type="object",
                          model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"})
    torch.manual_seed(1)
    return explainer(x, edges, index=3)


@pytest.mark.parametrize("name", CONVS)
def test_edge_masks_of_explainers(name, device):
    edges, x = torch.unique(torch.tensor(make_edges(N, 150)), dim=1).to(device), torch.randn(N, 6, device=device)
    theirs, mine = (Net(CONVS[name], nn).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    before = mine(x, edges)
    expected, got = explained(theirs, x, edges), explained(mine, x, edges)
    assert expected.edge_mask.any()
    torch.testing.assert_close(got.edge_mask, expected.edge_mask, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(got.node_mask, expected.node_mask, atol=1e-3, rtol=1e-3)
    assert torch.equal(mine(x, edges), before)  # without its mask
    assert list(mine.state_dict()) == list(theirs.state_dict())


TYPES = ["p", "a"], [("p", "c", "p"), ("a", "w", "p"), ("p", "r", "a")]


def hetero(device):
    sizes = {"p": 12, "a": 7}
    x = {kind: torch.randn(size, 6, device=device) for kind, size in sizes.items()}
    edges = {(a, way, b): torch.stack([torch.randint(sizes[a], (40,)), torch.randint(sizes[b], (40,))]).to(device) for a, way, b in TYPES[1]}
    return x, edges


@pytest.mark.parametrize("name", ["sage", "sage softmax", "graph", "gatv2"])
def test_to_hetero(name, device):
    x, edges = hetero(device)
    theirs, mine = (pyg.to_hetero(Net(CONVS[name], nn), TYPES).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    for kind, expected in theirs(x, edges).items():
        torch.testing.assert_close(mine(x, edges)[kind], expected, atol=1e-4, rtol=1e-4)


def test_hetero_conv(device):
    x, edges = hetero(device)
    theirs, mine = (pyg.HeteroConv({key: nn.SAGEConv((6, 6), 4) for key in TYPES[1]}).to(device) for nn in (pyg, ours))
    mine.load_state_dict(theirs.state_dict())
    for kind, expected in theirs(x, edges).items():
        torch.testing.assert_close(mine(x, edges)[kind], expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", CONVS)
def test_layers_are_found_copied_and_pickled(name):
    layer, edges, x = CONVS[name](ours), torch.tensor(make_edges(N, 150)), torch.randn(N, 6)
    assert isinstance(layer, pyg.MessagePassing) and isinstance(layer, type(layer)) and isinstance(layer, torch.nn.Module)
    assert type(layer).__mro__.count(pyg.MessagePassing) == 0
    file = io.BytesIO()
    torch.save(layer, file)
    file.seek(0)
    for again in copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), torch.load(file, weights_only=False):
        assert type(again) is type(layer) and torch.equal(again(x, edges), layer(x, edges))


def test_parametrized_layers_compute():
    layer, edges, x = ours.GATConv(6, 3, heads=2), torch.tensor(make_edges(N, 150)), torch.randn(N, 6)
    expected = layer(x, edges)
    torch.nn.utils.parametrize.register_parametrization(layer, "att_src", torch.nn.Identity())
    assert torch.equal(layer(x, edges), expected)


def test_what_needs_messages_says_so():
    layer = ours.GCNConv(6, 6)
    for name in "register_message_forward_hook", "register_propagate_forward_pre_hook", "propagate", "message":
        with pytest.raises(NotImplementedError, match=f"GCNConv of rodeo.torch.nn has no {name}: .*torch_geometric.nn"):
            getattr(layer, name)(print)
    from torch_geometric.explain import Explainer, GraphMaskExplainer
    edges, x = torch.tensor(make_edges(N, 150)), torch.randn(N, 6)
    for name in "gcn", "gat", "sage", "pna":
        explainer = Explainer(Net(CONVS[name], ours), GraphMaskExplainer(2, epochs=1, log=False), "model", node_mask_type="attributes",
                              edge_mask_type="object",
                              model_config={"mode": "multiclass_classification", "task_level": "node", "return_type": "raw"})
        with pytest.raises(NotImplementedError, match="of rodeo.torch.nn has no messages that an explainer without an edge mask"):
            explainer(x, edges, index=3)
