"""What users of DGL bring: its graphs, and the functions and layers of docs/dgl.md beside DGL's own. Without DGL, graphs are
stand-ins with its methods and the comparisons are skipped by name."""
import os
import types

import numpy as np
import pytest

import rodeo

FAST = {"epochs": 3, "device": "cpu", "split": "60/20/20"}
NODES, EDGES = 40, 160


def edges(seed=0, nodes=NODES, count=EDGES):
    return tuple(np.random.default_rng(seed).integers(0, nodes, (2, count)))


def stand_in(ends, nodes, ndata=None, edata=None):
    return types.SimpleNamespace(canonical_etypes=[("_N", "_E", "_N")], ntypes=["_N"], edges=lambda: ends, num_nodes=lambda: nodes,
                                 ndata=ndata or {}, edata=edata or {})


def parts():
    random = np.random.default_rng(1)
    part = np.arange(NODES) % 4
    ndata = {"feat": random.standard_normal((NODES, 5)).astype("float32"), "label": np.arange(NODES) % 3, "train_mask": part < 2,
             "val_mask": part == 2, "test_mask": part == 3, "year": np.arange(NODES)}
    return ndata, {"weight": random.random(EDGES).astype("float32"), "feat": random.standard_normal((EDGES, 2)).astype("float32")}


def check_graph(graph):
    ndata, edata = parts()
    made = rodeo.Dataset.from_dgl(graph)
    arrays = made.arrays()
    assert (np.stack([arrays["src"], arrays["dst"]]) == np.stack(edges())).all()
    assert (arrays["x"] == ndata["feat"]).all() and (arrays["y"] == ndata["label"]).all()
    assert (arrays["edge_weight"] == edata["weight"]).all() and (arrays["edge_attr"] == edata["feat"]).all()
    for name in "train", "val", "test":
        assert (arrays[name] == np.flatnonzero(ndata[f"{name}_mask"])).all()
    own = rodeo.Dataset.from_dgl(graph, y=np.arange(NODES) % 2)
    assert own.num_classes == 2 and made.num_classes == 3
    result = rodeo.train(graph, model="gcn", epochs=3, device="cpu")
    assert (result.logits == rodeo.train(made, model="gcn", epochs=3, device="cpu").logits).all()


def check_set(pairs):
    made = rodeo.Dataset.from_dgl(pairs)
    arrays = made.arrays()
    assert made.num_graphs == 12 and list(arrays["graph_y"]) == [0, 1] * 6
    assert (np.diff(arrays["graph_ptr"]) == 5).all() and arrays["src"].min() == 0 and arrays["src"].max() < 60
    again = rodeo.Dataset.from_dgl([graph for graph, _ in pairs], y=[0, 1] * 6)
    assert all((again.arrays()[name] == values).all() for name, values in arrays.items())
    assert rodeo.train(pairs, model="gin", task="graph", folds=3, epochs=2, device="cpu").runs
    with pytest.raises(ValueError, match="a label for each of 12 graphs, got 2"):
        rodeo.Dataset.from_dgl([graph for graph, _ in pairs], y=[0, 1])


def test_a_graph():
    check_graph(stand_in(edges(), NODES, *parts()))


def test_a_set_of_graphs():
    check_set([(stand_in(edges(k, 5, 9), 5, {"feat": np.full((5, 2), k, "float32")}), k % 2) for k in range(12)])


def test_a_batch_has_its_graphs():
    batch = stand_in(edges(0, 3, 4), 9, {"feat": np.ones((9, 1), "float32")})
    batch.batch_size, batch.batch_num_nodes = 3, lambda: np.array([3, 2, 4])
    made = rodeo.Dataset.from_dgl(batch, y=[1, 0, 1])
    assert list(made.arrays()["graph_ptr"]) == [0, 3, 5, 9] and list(made.arrays()["graph_y"]) == [1, 0, 1]


def hetero_stand_in():
    relations = {("user", "buys", "item"): (np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])),
                 ("item", "sold-by", "shop"): (np.array([0, 1]), np.array([0, 1]))}
    data = {"user": {"label": np.array([0, 1, 0]), "train_mask": np.array([1, 0, 0]), "val_mask": np.array([0, 1, 0]),
                     "test_mask": np.array([0, 0, 1])}, "item": {"feat": np.ones((2, 3), "float32")}, "shop": {}}
    return types.SimpleNamespace(canonical_etypes=list(relations), ntypes=list(data), edges=lambda etype: relations[etype],
                                 nodes={kind: types.SimpleNamespace(data=part) for kind, part in data.items()},
                                 num_nodes=lambda kind: {"user": 3, "item": 2, "shop": 2}[kind])


def check_hetero(graph):
    made = rodeo.HeteroGraph.from_dgl(graph)
    assert made.target == "user" and made.node_types == {"user": 3, "item": 2, "shop": 2}
    assert made.relations == {("user", "buys", "item"): 4, ("item", "sold-by", "shop"): 2}
    assert list(made.edges()[("user", "buys", "item")][1]) == [0, 0, 1, 1] and list(made.nodes().arrays()["train"]) == [0]
    result = rodeo.train(graph, model="rgcn", undirected=True, epochs=2, hidden=4, device="cpu")
    assert result.logits.shape == (3, 2)
    with pytest.raises(ValueError, match=r"\(.*user.*\) are rodeo.HeteroGraph.from_dgl\(graph\)"):
        rodeo.Dataset.from_dgl(graph)


def test_a_heterograph():
    check_hetero(hetero_stand_in())


def test_other_objects_are_refused():
    with pytest.raises(ValueError, match="from_dgl wants a graph of DGL, or a dataset or list of them, got dict"):
        rodeo.Dataset.from_dgl({})
    with pytest.raises(ValueError, match="got int"):
        rodeo.Dataset.from_dgl(3)


@pytest.fixture
def dgl():
    os.environ.setdefault("DGLBACKEND", "pytorch")
    return pytest.importorskip("dgl", exc_type=Exception)


def real(dgl, ends, nodes, ndata=None, edata=None):
    import torch
    graph = dgl.graph(tuple(torch.as_tensor(end) for end in ends), num_nodes=nodes)
    graph.ndata.update({key: torch.as_tensor(value) for key, value in (ndata or {}).items()})
    graph.edata.update({key: torch.as_tensor(value) for key, value in (edata or {}).items()})
    return graph


def test_graphs_of_dgl(dgl):
    import torch
    check_graph(real(dgl, edges(), NODES, *parts()))
    pairs = [(real(dgl, edges(k, 5, 9), 5, {"feat": np.full((5, 2), k, "float32")}), torch.tensor(k % 2)) for k in range(12)]
    check_set(pairs)
    batch = rodeo.Dataset.from_dgl(dgl.batch([graph for graph, _ in pairs]), y=[0, 1] * 6).arrays()
    assert all((batch[name] == values).all() for name, values in rodeo.Dataset.from_dgl(pairs).arrays().items())
    like = hetero_stand_in()
    graph = dgl.heterograph({kind: tuple(map(torch.as_tensor, like.edges(kind))) for kind in like.canonical_etypes})
    for kind in like.ntypes:
        graph.nodes[kind].data.update({key: torch.as_tensor(value) for key, value in like.nodes[kind].data.items()})
    check_hetero(graph)


@pytest.fixture
def graphs(dgl):
    """An undirected graph with self loops: DGL's, ours, features, and values of edges in DGL's order."""
    import torch
    torch.manual_seed(0)
    theirs = dgl.add_self_loop(dgl.remove_self_loop(dgl.to_bidirected(real(dgl, edges(), NODES))))
    ours = rodeo.Graph.from_edge_index(torch.stack(theirs.edges()), theirs.num_nodes())
    return theirs, ours, torch.randn(NODES, 5), torch.rand(theirs.num_edges())


def test_messages_and_reductions(dgl, graphs):
    import torch

    import rodeo.torch as rt
    theirs, ours, x, weight = graphs
    y, function = torch.randn(NODES, 5), dgl.function
    theirs.ndata.update({"x": x, "y": y})
    theirs.edata["w"] = weight
    for name in "sum", "mean", "max", "min":
        reduce = getattr(function, name)("m", "out")
        theirs.update_all(function.u_mul_e("x", "w", "m"), reduce)
        torch.testing.assert_close(rt.spmm(ours, x, ours.permute(weight), reduce=name), theirs.ndata["out"])
        theirs.update_all(function.copy_u("x", "m"), reduce)
        torch.testing.assert_close(rt.spmm(ours, x, reduce=name), theirs.ndata["out"])
    theirs.update_all(function.copy_e("w", "m"), function.sum("m", "out"))
    torch.testing.assert_close(rt.edge_sum(ours, ours.permute(weight)), theirs.ndata["out"])
    dgl.reverse(theirs, copy_ndata=True).update_all(function.copy_u("x", "m"), function.sum("m", "out"))
    torch.testing.assert_close(rt.spmm(ours.T, x), dgl.ops.copy_u_sum(dgl.reverse(theirs), x))
    for name, op in ("u_dot_v", "dot"), ("u_add_v", "add"), ("u_mul_v", "mul"):
        theirs.apply_edges(getattr(function, name)("x", "y", "out"))
        torch.testing.assert_close(rt.sddmm(ours, y, x, op=op).view(len(weight), -1), ours.permute(theirs.edata["out"]))
    lengths = torch.tensor([3, 0, 7, NODES - 10])
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    torch.testing.assert_close(rt.segment_reduce(x, offsets, "mean"), dgl.ops.segment_reduce(lengths, x, "mean").nan_to_num())
    torch.testing.assert_close(rt.edge_softmax(ours, ours.permute(weight)),
                               ours.permute(dgl.nn.functional.edge_softmax(theirs, weight)))


def renamed(state, **names):
    return {new: state[old.replace("__", ".")] for old, new in names.items()}


def test_layers_with_the_weights_of_dgl(dgl, graphs):
    import torch
    from dgl.nn import pytorch as theirs

    from rodeo.torch import nn as ours
    graph, own, x, _ = graphs

    def compare(layer, other, state, *inputs):
        other.load_state_dict(state)
        with torch.no_grad():
            expected = layer(graph, *inputs)
            got = other(inputs[0], own, *inputs[1:])
        torch.testing.assert_close(got, expected.reshape(got.shape))

    def random(layer):
        for parameter in layer.parameters():
            torch.nn.init.normal_(parameter)
        return layer.eval(), layer.state_dict()

    for norm, other, name in (("both", ours.GCNConv(5, 4), "lin"), ("right", ours.SAGEConv(5, 4, root_weight=False), "lin_l"),
                              ("none", ours.SAGEConv(5, 4, aggr="sum", root_weight=False), "lin_l")):
        layer, state = random(theirs.GraphConv(5, 4, norm=norm))
        bias = "bias" if norm == "both" else "lin_l.bias"
        compare(layer, other, {f"{name}.weight": state["weight"].T, bias: state["bias"]}, x)
    layer, state = random(theirs.GATConv(5, 4, 3))
    compare(layer, ours.GATConv(5, 4, 3), renamed(state, fc__weight="lin.weight", attn_l="att_src", attn_r="att_dst", bias="bias"), x)
    layer, state = random(theirs.GATv2Conv(5, 4, 3))
    compare(layer, ours.GATv2Conv(5, 4, 3, bias=True), {"bias": torch.zeros(12), **renamed(
        state, fc_src__weight="lin_l.weight", fc_src__bias="lin_l.bias", fc_dst__weight="lin_r.weight", fc_dst__bias="lin_r.bias",
        attn="att")}, x)
    layer, state = random(theirs.SAGEConv(5, 4, "mean"))
    compare(layer, ours.SAGEConv(5, 4), renamed(state, fc_neigh__weight="lin_l.weight", fc_self__bias="lin_l.bias",
                                                fc_self__weight="lin_r.weight"), x)
    layer, state = random(theirs.GINConv(torch.nn.Linear(5, 4), "sum", learn_eps=True))
    network = {"eps": "eps", "apply_func__weight": "nn.weight", "apply_func__bias": "nn.bias"}
    compare(layer, ours.GINConv(torch.nn.Linear(5, 4), train_eps=True), renamed(state, **network), x)
    layer, state = random(theirs.GINEConv(torch.nn.Linear(5, 4), learn_eps=True))
    compare(layer, ours.GINEConv(torch.nn.Linear(5, 4), train_eps=True), renamed(state, **network), x,
            torch.randn(graph.num_edges(), 5))
    layer, state = random(theirs.SGConv(5, 4, k=2))
    compare(layer, ours.SGConv(5, 4, K=2), renamed(state, fc__weight="lin.weight", fc__bias="lin.bias"), x)
    compare(theirs.APPNPConv(3, 0.1), ours.APPNP(3, 0.1), {}, x)
    relation = torch.randint(0, 3, (graph.num_edges(),))
    layer, state = random(theirs.RelGraphConv(5, 4, 3, regularizer="basis", num_bases=2))
    other = ours.RGCNConv(5, 4, 3, num_bases=2, aggr="add")
    other.load_state_dict(renamed(state, linear_r__W="weight", linear_r__coeff="comp", loop_weight="root", h_bias="bias"))
    torch.testing.assert_close(other(x, torch.stack(graph.edges()), relation), layer(graph, x, relation))
