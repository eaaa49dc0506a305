"""rodeo.torch.nn.HeteroConv beside PyG's."""
import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo.torch.nn as ours  # noqa: E402
from test_hgt import NODES, RELATIONS, WIDTHS, inputs  # noqa: E402

PAIRS = {relation: (WIDTHS[relation[0]], WIDTHS[relation[2]]) for relation in RELATIONS}
RELATION = "author", "writes", "paper"


def sage(nn, relation):
    return nn.SAGEConv(PAIRS[relation], 6)


def gat(nn, relation):
    return nn.GATConv(PAIRS[relation], 3, heads=2, add_self_loops=False)


def mixed(nn, relation):
    """Layers of PyG are taken as well, and an argument that some of them have."""
    if relation == RELATION:
        return pyg.SAGEConv(PAIRS[relation], 6)
    return nn.GraphConv(PAIRS[relation], 6) if relation[0] != relation[2] else nn.GCNConv(WIDTHS[relation[0]], 6)


@pytest.mark.parametrize("aggr", ["sum", "mean", "min", "max", "cat", None])
@pytest.mark.parametrize("layer", [sage, gat, mixed])
@pytest.mark.filterwarnings("ignore:.*venue", "ignore:There exist")
def test_outputs_and_gradients_are_those_of_pyg(layer, aggr, device):
    # In float64: gradients of GATConv cancel, and those of PyG in float32 are off by seven tenths of what was allowed here.
    x, edges = inputs(device)
    x = {kind: one.double() for kind, one in x.items()}
    cited = "paper", "in.order of", "paper"  # a name with a dot
    PAIRS[cited] = WIDTHS["paper"], WIDTHS["paper"]
    edges[cited] = torch.randint(0, NODES["paper"], (2, 20), generator=torch.Generator().manual_seed(7)).to(device)
    made = []
    for nn in pyg, ours:
        torch.manual_seed(1)
        made.append(nn.HeteroConv({relation: layer(nn, relation) for relation in edges}, aggr=aggr).to(device, torch.float64))
    theirs, mine = made
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    assert type(mine.convs[cited]).__name__ == type(theirs.convs[cited]).__name__ and list(mine.convs.keys()) == list(theirs.convs.keys())
    mine.reset_parameters()
    mine.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(mine.state_dict())
    given = {"edge_weight_dict": {r: torch.rand(edges[r].size(1), device=device, dtype=torch.float64) for r in edges if r != RELATION}} if layer is mixed else {}
    outputs = [conv({kind: one.requires_grad_() for kind, one in x.items()}, edges, **given) for conv in made]
    assert list(outputs[0]) == list(outputs[1]) == ["author", "paper", "venue"]
    gradients = [torch.autograd.grad(sum(y.square().sum() for y in out.values()), [*x.values(), *conv.parameters()], allow_unused=True)
                 for conv, out in zip(made, outputs)]
    for expected, got in zip((*outputs[0].values(), *gradients[0]), (*outputs[1].values(), *gradients[1])):
        if expected is not None or got is not None:
            torch.testing.assert_close(got, expected)
    some = {RELATION: edges[RELATION]}
    assert list(mine(x, some)) == list(theirs(x, some)) == ["paper"]


@pytest.mark.parametrize("call, text", [
    (lambda: ours.HeteroConv({}, aggr="mul"), "aggr must be sum, mean, min, max, cat or None"),
    (lambda: ours.HeteroConv({"writes": ours.SAGEConv(2, 2)}), "a relation is"),
    (lambda: ours.HeteroConv({("a", "to", "b"): ours.GATConv((2, 2), 2)}), "give add_self_loops=False"),
    (lambda: ours.HeteroConv({("a", "to", "a"): ours.SAGEConv(2, 2)})({}, edge_attr={}), "end with _dict"),
])
def test_wrong_arguments_are_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()
    with pytest.warns(UserWarning, match="no relation leads to a"):
        ours.HeteroConv({("a", "to", "b"): ours.SAGEConv((2, 2), 2)})
