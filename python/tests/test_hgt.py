"""rodeo.torch.nn.HGTConv beside PyG's."""
import copy

import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo  # noqa: E402
import rodeo.torch.nn as ours  # noqa: E402

NODES, WIDTHS = {"author": 10, "paper": 14, "venue": 5}, {"author": 8, "paper": 16, "venue": 3}
RELATIONS = {("paper", "by", "author"): 40, ("author", "writes", "paper"): 30, ("paper", "in", "venue"): 20, ("author", "knows", "author"): 0}


def inputs(device):
    random = torch.Generator().manual_seed(0)
    x = {kind: torch.randn(count, WIDTHS[kind], generator=random).to(device) for kind, count in NODES.items()}
    return x, {relation: torch.stack([torch.randint(0, NODES[kind], (count,), generator=random) for kind in relation[::2]]).to(device)
               for relation, count in RELATIONS.items()}


def make(nn, device, in_channels=WIDTHS, heads=4):
    torch.manual_seed(1)
    return nn.HGTConv(in_channels, 16, (list(NODES), list(RELATIONS)), heads=heads).to(device)


@pytest.mark.parametrize("in_channels, heads", [(WIDTHS, 1), (WIDTHS, 4), (-1, 2)])
def test_outputs_and_gradients_are_those_of_pyg(in_channels, heads, device):
    x, edges = inputs(device)
    theirs, mine = (make(nn, device, in_channels, heads) for nn in (pyg, ours))
    if in_channels == -1:
        theirs(x, edges), mine(x, edges)
        mine.load_state_dict(theirs.state_dict())
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(value, mine.state_dict()[key]) for key, value in theirs.state_dict().items())
    outputs = [layer(x, edges) for layer in (theirs, mine)]
    assert list(outputs[0]) == list(outputs[1])
    for kind, expected in outputs[0].items():
        torch.testing.assert_close(outputs[1][kind], expected, atol=1e-5, rtol=1e-5)
    for y in outputs:
        sum(part.square().sum() for part in y.values()).backward()
    for expected, got in zip(theirs.parameters(), mine.parameters()):
        assert (got.grad is None) == (expected.grad is None)
        if expected.grad is not None:
            torch.testing.assert_close(got.grad, expected.grad, atol=1e-3, rtol=1e-4)


def test_other_edges_and_adjacencies(device):
    x, edges = inputs(device)
    theirs, mine = (make(nn, device) for nn in (pyg, ours))
    y = mine(x, edges)
    graphs = {relation: rodeo.Graph.from_edge_index(ends, NODES[relation[2]], num_sources=NODES[relation[0]]) for relation, ends in edges.items()}
    for given in graphs, {relation: ends.clone() for relation, ends in edges.items()}:
        for kind, expected in y.items():
            torch.testing.assert_close(mine(x, given)[kind], expected)
    some = {relation: edges[relation] for relation in list(edges)[1:3]}
    for kind, expected in theirs(x, some).items():
        torch.testing.assert_close(mine(x, some)[kind], expected, atol=1e-5, rtol=1e-5)
    edges["paper", "by", "author"][0, 0] = (edges["paper", "by", "author"][0, 0] + 1) % 14  # changes in place are seen
    assert not torch.equal(mine(x, edges)["author"], y["author"])
    again = copy.deepcopy(mine)
    assert torch.equal(again(x, edges)["venue"], mine(x, edges)["venue"])


@pytest.mark.parametrize("change, text", [
    (lambda x, edges: edges.update({("paper", "cites", "paper"): torch.zeros(2, 1).long()}), "has .'paper', 'cites', 'paper'., it must have"),
    (lambda x, edges: edges.clear(), "has no edge_index"),
    (lambda x, edges: x.update(author=torch.stack([x["author"]] * 3)), r"x must be \[nodes, \d+\] of author, got .* each x of the batch"),
    (lambda x, edges: edges["author", "writes", "paper"][0].add_(5), r"must have author in \[0, 10\)"),
    (lambda x, edges: edges.update({("author", "writes", "paper"): torch.zeros(3, 1).long()}), r"must be \[2, edges\], got \[3, 1\]"),
])
def test_wrong_arguments_are_named(change, text):
    x, edges = inputs("cpu")
    change(x, edges)
    with pytest.raises(ValueError, match=text):
        make(ours, "cpu")(x, edges)
    with pytest.raises(ValueError, match="out_channels 16 must be a multiple of heads=3"):
        make(ours, "cpu", heads=3)
