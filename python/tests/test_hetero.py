"""Graphs of several node types: HeteroGraph, training with the numbers of the command, and prediction."""
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rodeo

SIZES = {"author": 40, "paper": 90, "venue": 4}
EDGES = {("author", "writes", "paper"): 300, ("paper", "in", "venue"): 90, ("venue", "has", "author"): 60}
OPTIONS = {"undirected": True, "epochs": 6, "hidden": 8, "seed": 3, "device": "cpu"}


def parts(seed=0):
    random = np.random.default_rng(seed)
    part = np.arange(40) % 4
    nodes = {"author": {"x": random.standard_normal((40, 5)).astype("float32"), "y": np.arange(40) % 3, "train_mask": part < 2,
                        "val_mask": part == 2, "test_mask": part == 3},
             "paper": {"x": random.standard_normal((90, 3)).astype("float32")}, "venue": 4}
    return nodes, {relation: np.stack([random.integers(0, SIZES[relation[k]], count) for k in (0, 2)])
                   for relation, count in EDGES.items()}


@pytest.fixture
def graph():
    return rodeo.HeteroGraph(*parts(), name="toy")


def test_it_keeps_what_it_was_given(graph, tmp_path):
    nodes, edges = parts()
    graph.save(tmp_path / "g.h5")
    for again in graph, rodeo.HeteroGraph.load(tmp_path / "g.h5"), pickle.loads(pickle.dumps(graph)):
        assert again.node_types == SIZES and again.relations == EDGES and again.target == "author"
        assert (again.num_nodes, again.num_edges, again.num_features, again.num_classes) == (134, 450, 5, 3)
        for relation, ids in again.edges().items():
            assert (np.stack(ids) == edges[relation]).all()
        assert (again.nodes("paper").arrays()["x"] == nodes["paper"]["x"]).all()
        assert (again.nodes().arrays()["val"] == np.flatnonzero(nodes["author"]["val_mask"])).all()
    assert repr(graph) == ("rodeo.HeteroGraph('toy', node_types={'author': 40, 'paper': 90, 'venue': 4}, relations=['author:writes:paper', "
                           "'paper:in:venue', 'venue:has:author'], target='author', num_edges=450)")


@pytest.mark.parametrize("model", ["rgcn", "rgat", "hgt", "hetero-sage"])
def test_training_has_the_numbers_of_the_command(graph, model, tmp_path):
    path, log, export = (str(tmp_path / name) for name in ("g.h5", "run.jsonl", "w.safetensors"))
    graph.save(path)
    result = rodeo.train(graph, model=model, **OPTIONS)
    words = [word for name, value in OPTIONS.items() for word in ([f"--{name}"] if value is True else [f"--{name}", str(value)])]
    subprocess.run([sys.executable, "-m", "rodeo", "--model", model, "--dataset", path, "--log", log, "--export", export, "--quiet", *words],
                   check=True, env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    epochs = [event for event in map(json.loads, open(log)) if event["event"] == "epoch"]
    assert [epoch["loss"] for epoch in epochs] == pytest.approx([epoch["loss"] for epoch in result.history], rel=1e-6)
    model_of_file = rodeo.load_model(export)
    assert all((weight == result.weights[name]).all() for name, weight in model_of_file.weights.items())
    assert result.logits.shape == (40, 3) and result.num_features == 5
    assert (result.predictions() == result.logits.argmax(1)).all()
    result.save(tmp_path / "own.safetensors")
    assert rodeo.load_model(tmp_path / "own.safetensors").description["model"] == model_of_file.description["model"]
    np.testing.assert_allclose(model_of_file.logits(graph), result.logits, rtol=1e-4, atol=1e-5)  # a GPU may measure another kernel
    assert (result.predict(graph) == result.predictions()).all()
    nodes, edges = parts(seed=1)
    other = rodeo.HeteroGraph({**nodes, "author": {"x": nodes["author"]["x"]}}, edges)  # without labels
    other.save(path)
    subprocess.run([sys.executable, "-m", "rodeo", "predict", "--weights", export, "--dataset", path, "--out", log + ".csv", "--logits",
                    "--quiet"], check=True, env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    table = np.genfromtxt(log + ".csv", delimiter=",", names=True)
    columns = np.stack([table[f"logit_{i}"] for i in range(3)], 1)
    np.testing.assert_allclose(model_of_file.logits(other), columns, atol=1e-5)
    del edges["author", "writes", "paper"]
    for wrong, text in (rodeo.Dataset.generate("cora"), "one node type, and the model .* is for several"), (
            rodeo.HeteroGraph(nodes, edges), "author:writes:paper"):
        with pytest.raises(ValueError, match=text):
            model_of_file.predict(wrong)


def test_seeds_and_random_splits(graph):
    results = rodeo.train(graph, model="rgcn", seeds=2, split="60/20/20", **{**OPTIONS, "epochs": 2})
    assert [run.seed for run in results.runs] == [3, 4] and results.predictions().shape == (40,)


def shop():
    """Users buy most items of their group; types have no labels."""
    users, items = np.divmod(np.arange(40 * 60), 60)
    bought = (users % 4 == items % 4) & ((users * 7 + items) % 5 != 0)
    x = np.random.default_rng(1).standard_normal((60, 4)).astype("float32")
    return rodeo.HeteroGraph({"user": 40, "item": {"x": x}}, {
        ("user", "buys", "item"): np.stack([users[bought], items[bought]]),
        ("item", "near", "item"): np.stack([np.arange(60), (np.arange(60) + 4) % 60])}, name="shop")


@pytest.mark.parametrize("more", [{}, {"batch": 100, "fanout": "8,4", "epochs": 100}])
def test_links_of_a_relation(more, tmp_path):
    graph, path, log, export = shop(), *(str(tmp_path / name) for name in ("g.h5", "run.jsonl", "w.safetensors"))
    graph.save(path)
    given = {"relation": "buys", "epochs": 150, "hidden": 32, "dropout": 0, "undirected": True, "device": "cpu", **more}
    result = rodeo.train(graph, "rgcn", task="link", **given)
    words = [word for name, value in given.items() for word in ([f"--{name}"] if value is True else [f"--{name}", str(value)])]
    subprocess.run([sys.executable, "-m", "rodeo", "--model", "rgcn", "--task", "link", "--dataset", path, "--log", log, "--export", export,
                    "--quiet", *words], check=True, env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    epochs = [event for event in map(json.loads, open(log)) if event["event"] == "epoch"]
    assert [epoch["loss"] for epoch in epochs] == pytest.approx([epoch["loss"] for epoch in result.history], rel=1e-6)
    assert result.task == "link" and result.logits.shape == (100, 64) and result.details["AUC"] > 0.75
    pairs = np.stack([np.zeros(60, int), np.arange(60)])
    score = result.score(pairs)
    assert score[::4].mean() > score[np.arange(60) % 4 != 0].mean() + 0.3
    again = rodeo.load_model(export, device="cpu")
    for relation in None, "buys", "user:buys:item", ("user", "buys", "item"):
        assert (again.score(graph, pairs, relation) == score).all()
    for wrong, relation, text in (pairs[::-1], None, r"a source is 40, outside \[0, 40\)"), (pairs, "near", "one of user:buys:item, got near"):
        with pytest.raises(ValueError, match=text):
            result.score(wrong, relation)
    with pytest.raises(ValueError, match="result.score"):
        result.predictions()


@pytest.mark.parametrize("batches", [{"batch": 8, "fanout": "3,2"}, {}], ids=["batches", "whole graph"])
def test_training_over_ranks(graph, batches):
    one, two = (rodeo.train(graph, model="rgcn", ranks=ranks, **{**OPTIONS, **batches, "dropout": 0}) for ranks in (0, 2))
    assert [epoch["loss"] for epoch in two.history] == pytest.approx([epoch["loss"] for epoch in one.history], rel=1e-3)


def test_links_of_all_relations():
    result = rodeo.train(shop(), "rgcn", task="link", decoder="distmult", epochs=20, hidden=8, undirected=True, device="cpu")
    assert sum(" of " in name for name in result.details) == 2
    pairs = np.array([[0, 1], [4, 5]])
    assert (result.score(pairs, "buys") != result.score(pairs, "near")).any()
    with pytest.raises(ValueError, match="relation must be one of user:buys:item, item:near:item"):
        result.score(pairs)
    with pytest.raises(ValueError, match="relation is for graphs of several node types"):
        rodeo.train(rodeo.Dataset.generate("cora"), "gcn", task="link", epochs=1, device="cpu").score(pairs, "buys")
    with pytest.raises(ValueError, match="has no such relation, but user:buys:item"):
        rodeo.train(shop(), "rgcn", task="link", relation="sells", device="cpu")


def test_hetero_data_of_pyg(device):
    torch_data = pytest.importorskip("torch_geometric.data")
    import torch
    nodes, edges = parts()
    data = torch_data.HeteroData()
    for kind, given in nodes.items():
        if kind == "venue":
            data[kind].num_nodes = given
            continue
        for name, value in given.items():
            setattr(data[kind], name, torch.from_numpy(value).to(device))
    for relation, ids in edges.items():
        data[relation].edge_index = torch.from_numpy(ids).to(device)
    result = rodeo.train(data, model="rgcn", **OPTIONS)
    assert (result.logits == rodeo.train(rodeo.HeteroGraph(nodes, edges), model="rgcn", **OPTIONS).logits).all()
    with pytest.raises(ValueError, match=r"rodeo.HeteroGraph.from_pyg\(data\)"):
        rodeo.Dataset.from_pyg(data)
    with pytest.raises(ValueError, match="graphs of one node type are rodeo.Dataset.from_pyg"):
        rodeo.HeteroGraph.from_pyg(torch_data.Data())


@pytest.mark.parametrize("change, text", [
    (lambda nodes, edges: edges.update({("author", "cites", "book"): np.zeros((2, 1), int)}), "has the node type 'book', there are author"),
    (lambda nodes, edges: edges.update({("author", "writes", "paper"): np.array([[40], [0]])}), r"of author in \[0, 40\)"),
    (lambda nodes, edges: edges.update({("author", "writes", "paper"): np.array([[0.0], [0.0]])}), "must be integers"),
    (lambda nodes, edges: edges.update({("author", "writes", "paper"): ([0, 1], [0])}), "2 sources and 1 targets"),
    (lambda nodes, edges: edges.update({("author", "writes", "paper"): np.zeros((3, 4), int)}), r"\[2, edges\], got 3 rows"),
    (lambda nodes, edges: edges.update({"writes": np.zeros((2, 1), int)}), "a relation is"),
    (lambda nodes, edges: nodes["paper"].update(y=np.zeros(90, int)), "author and paper have labels: say by target"),
    (lambda nodes, edges: nodes["paper"].update(x=np.full((90, 3), np.nan)), "not finite, of the node type 'paper'"),
    (lambda nodes, edges: nodes["paper"].update(labels=1), "labels.*of the node type 'paper'"),
])
def test_wrong_arrays_are_named(change, text):
    nodes, edges = parts()
    change(nodes, edges)
    with pytest.raises((ValueError, TypeError), match=text):
        rodeo.HeteroGraph(nodes, edges)


@pytest.mark.parametrize("call, text", [
    (lambda g: rodeo.train(g), "toy has several node types, and the model gcn is for one"),
    (lambda g: rodeo.train(rodeo.Dataset.generate("cora"), model="rgcn"), "cora.* has one node type, and the model rgcn is for several"),
    (lambda g: rodeo.train(g, model="rgcn", hiden=8), "did you mean 'hidden'"),
    (lambda g: rodeo.train(rodeo.HeteroGraph(*parts(), target="paper"), model="rgcn"), "no labels"),
    (lambda g: rodeo.HeteroGraph({"a": 3}, {}).nodes(), "no node type has labels"),
    (lambda g: g.nodes("book"), "no node type 'book', there are author, paper, venue"),
])
def test_wrong_uses_are_named(graph, call, text):
    with pytest.raises(ValueError, match=text):
        call(graph)
