"""rodeo.torch.nn.RGCNConv beside PyG's."""
import warnings

import pytest

torch = pytest.importorskip("torch", minversion="2.4")
pyg = pytest.importorskip("torch_geometric.nn")

import rodeo  # noqa: E402
import rodeo.torch.nn as ours  # noqa: E402

SOURCES, TARGETS, RELATIONS = 30, 20, 4
MAKES = {
    "mean": {}, "sum": {"aggr": "add"}, "max": {"aggr": "max"}, "wide": {"out_channels": 12}, "wide sum": {"out_channels": 12, "aggr": "sum"},
    "bases": {"num_bases": 3, "root_weight": False}, "blocks": {"num_blocks": 2}, "blocks max": {"num_blocks": 4, "aggr": "max", "bias": False},
}


def arguments(targets, device, seed=0):
    random = torch.Generator().manual_seed(seed)
    edges = torch.stack([torch.randint(0, SOURCES, (200,), generator=random), torch.randint(0, targets, (200,), generator=random)])
    types = torch.randint(0, RELATIONS - 1, (200,), generator=random)  # the last relation has no edges
    x = torch.randn(SOURCES, 8, generator=random), torch.randn(targets, 6, generator=random)
    return [part.to(device) for part in x], edges.to(device), types.to(device)


def compare(name, in_channels, x, edges, types, device, given):
    layers = []
    for nn in pyg, ours:
        torch.manual_seed(1)
        layers.append(getattr(nn, name)(in_channels, **{"out_channels": 4, "num_relations": RELATIONS, **given}).to(device))
    theirs, mine = layers
    assert repr(mine) == repr(theirs) and list(mine.state_dict()) == list(theirs.state_dict())
    assert all(torch.equal(value, mine.state_dict()[key]) for key, value in theirs.state_dict().items())
    outputs = [layer(x, edges, types) for layer in layers]
    torch.testing.assert_close(outputs[1], outputs[0], atol=1e-5, rtol=1e-5)
    for y in outputs:
        y.square().sum().backward()
    for expected, got in zip(theirs.parameters(), mine.parameters()):
        torch.testing.assert_close(got.grad, expected.grad, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("case", MAKES)
def test_outputs_and_gradients_are_those_of_pyg(case, device):
    for name in ("RGCNConv", "FastRGCNConv") if "max" not in case else ("RGCNConv",):
        (x, target), edges, types = arguments(SOURCES, device)
        compare(name, 8, x, edges, types, device, MAKES[case])
        (x, target), edges, types = arguments(TARGETS, device)
        compare(name, (8, 6), (x, target), edges, types, device, MAKES[case])
        if "blocks" in case:
            continue
        compare(name, SOURCES, None, *arguments(SOURCES, device)[1:], device, MAKES[case])
        ids = torch.arange(SOURCES, device=device), torch.arange(TARGETS, device=device)
        compare(name, (SOURCES, TARGETS), ids, edges, types, device, MAKES[case])


def test_derivatives_compilation_and_traces(device):
    (x, _), edges, types = arguments(SOURCES, device)
    for width in 4, 12:
        conv = ours.RGCNConv(8, width, RELATIONS).to(device).double()
        x = x.double().requires_grad_()
        assert torch.autograd.gradcheck(lambda x: conv(x, edges, types), (x,))
        y = conv(x, edges, types)
        if width == 4:
            torch.testing.assert_close(torch.compile(conv, fullgraph=True, backend="aot_eager")(x, edges, types), y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", torch.jit.TracerWarning)
            torch.testing.assert_close(torch.jit.trace(conv, (x, edges, types))(x, edges, types), y)
        torch.testing.assert_close(torch.func.vmap(lambda x: conv(x, edges, types))(torch.stack([x, x]))[1], y)
        types[0] = (types[0] + 1) % 3  # changes in place are seen
        assert not torch.equal(conv(x, edges, types), y)


@pytest.mark.parametrize("call, text", [
    (lambda conv, x, edges, types: conv(x, edges, types + 2), r"edge_type must be in \[0, 4\)"),
    (lambda conv, x, edges, types: conv(x, edges + 1, types), r"sources must be in \[0, 30\)"),
    (lambda conv, x, edges, types: conv(x, edges), "edge_type must be integers .200., got None"),
    (lambda conv, x, edges, types: conv(x, edges, types[:9]), r"edge_type must be integers .200., got torch.int64 \[9\]"),
    (lambda conv, x, edges, types: conv(x, rodeo.Graph.from_edge_index(edges, SOURCES), types), r"a tensor \[2, edges\]"),
    (lambda conv, x, edges, types: conv(torch.stack([x, x]), edges, types), "x must be .nodes, features., or integers .* each x of the batch"),
    (lambda conv, x, edges, types: ours.RGCNConv(8, 4, 2, aggr="min"), "aggr must be .*use torch_geometric.nn"),
    (lambda conv, x, edges, types: ours.RGCNConv(8, 4, 2, num_blocks=3), "multiples of num_blocks=3"),
    (lambda conv, x, edges, types: ours.RGCNConv(8, 4, 2, num_blocks=2, num_bases=2), "give one"),
])
def test_wrong_arguments_are_named(call, text):
    (x, _), edges, types = arguments(SOURCES, "cpu")
    with pytest.raises(ValueError, match=text):
        call(ours.RGCNConv(8, 4, RELATIONS), x, edges, types)
