"""Objects that are pickled, saved and loaded, and data of other packages."""
import copy
import io
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rodeo
from test_train import graph_set, small

FAST = {"epochs": 8, "device": "cpu"}


def dataset(**more):
    edges, x, y, masks = small()
    return rodeo.Dataset(edges, x, y, **{**masks, **more})


def test_datasets_are_pickled_and_copied():
    csr_matrix = pytest.importorskip("scipy.sparse").csr_matrix
    edges, x, y, masks = small()
    _, ptr, labels = graph_set()
    for data in (dataset(edge_weight=np.linspace(0.5, 1, 400)), rodeo.Dataset(edges, csr_matrix(x), y + 0.5, name="sparse", **masks),
                 rodeo.Dataset(graph_set()[0], np.ones((ptr[-1], 1)), labels, graph_ptr=ptr), rodeo.Dataset.generate("cora")):
        back = pickle.loads(pickle.dumps(data))
        assert repr(back) == repr(data) and set(back.arrays()) == set(data.arrays()) and copy.deepcopy(data) is data
        for name, array in data.arrays().items():
            np.testing.assert_array_equal(back.arrays()[name], array)
    from rodeo.dataset import _restored  # as pickle makes one: with the edges of a file for links, and the split of graphs
    edges = {f"{part}_{end}": np.array([0, 1]) for part in ("val", "test", "val_negative", "test_negative") for end in ("src", "dst")}
    named = {**dataset().arrays(), **edges, "graph_val": np.array([2])}
    back = pickle.loads(pickle.dumps(_restored(named, 60, 5, 3, "named")))
    assert set(back.arrays()) == set(named)
    a, b = (rodeo.train(d, **FAST).logits for d in (dataset(), pickle.loads(pickle.dumps(dataset()))))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("more", [{}, {"self_loops": "add"}, {"drop_duplicates": True}, {"num_sources": 70}])
def test_graphs_are_pickled(framework, more):
    edges = small()[0]
    weight, x = np.linspace(0, 1, 400).astype("float32"), np.random.default_rng(0).standard_normal((more.get("num_sources", 60), 3))
    if framework == "torch":
        torch = pytest.importorskip("torch")
        edges, weight, x = torch.tensor(edges), torch.tensor(weight), torch.tensor(x)
    x = x.astype("float32") if framework == "numpy" else x.float()
    graph = rodeo.Graph.from_edge_index(edges, 60, **more)
    back = pickle.loads(pickle.dumps(graph))
    assert repr(back) == repr(graph) and copy.deepcopy(graph) is graph and type(back.indices) is type(graph.indices)
    for one in back, pickle.loads(pickle.dumps(back)):
        for g, h in ((one, graph), (one.T, graph.T), (one.with_self_loops(), graph.with_self_loops()) if not more else (one, graph)):
            np.testing.assert_array_equal(rodeo.spmm(g, x[:g.num_sources]), rodeo.spmm(h, x[:h.num_sources]))
        np.testing.assert_array_equal(one.permute(weight), graph.permute(weight))


def test_a_pickled_classifier_predicts_in_another_process(tmp_path):
    edges, x, y, masks = small()
    classifier = rodeo.NodeClassifier("gcn", **FAST).fit(edges, x, np.array(["even", "odd"])[y], masks["train_mask"])
    classifier.given["device"] = "cuda" if not rodeo.build_info()["cuda_devices"] else "cpu"  # as if it was fitted on a GPU
    (tmp_path / "c.pickle").write_bytes(pickle.dumps(classifier))
    np.savez(tmp_path / "data.npz", edges=edges, x=x)
    program = ("import pickle, numpy as np\n"
               "classifier, data = pickle.load(open('c.pickle', 'rb')), np.load('data.npz')\n"
               "print(''.join(classifier.predict(data['edges'], data['x'])), ''.join(classifier.predict()))\n")
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    labels = "".join(classifier.predict())
    assert done.stdout == f"{labels} {labels}\n", done.stderr
    joblib = pytest.importorskip("joblib")
    joblib.dump(classifier, tmp_path / "c.joblib")
    assert (joblib.load(tmp_path / "c.joblib").predict() == classifier.predict()).all()
    assert (copy.deepcopy(classifier).predict() == classifier.predict()).all()


def header(path):
    with open(path, "rb") as file:
        return json.loads(json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]["rodeo"])


MODELS = [("gcn", {"residual": True, "layers": 3, "layer_dropout": "0.1,0.2"}), ("gat", {"heads": 2, "no_self_loops": True}), ("gatv2", {}),
          ("sage", {"aggr": "max", "self_loops": True}), ("gin", {}), ("sgc", {}), ("appnp", {"alpha": 0.2}), ("gcn", {"undirected": True})]


@pytest.mark.parametrize("model, given", MODELS)
def test_saved_models_predict(model, given, tmp_path):
    data = dataset()
    result = rodeo.train(data, model, export=tmp_path / "command.safetensors", **given, **FAST)
    result.save(tmp_path / "saved.safetensors")
    command, saved = header(tmp_path / "command.safetensors"), header(tmp_path / "saved.safetensors")
    assert saved["model"] == command["model"] and set(saved) == set(command)
    for key in set(saved) - {"model", "commit", "feature_mean", "feature_deviation"}:
        assert saved[key] == command[key], key
    for name in "command", "saved":
        loaded = rodeo.load_model(tmp_path / f"{name}.safetensors")
        np.testing.assert_allclose(loaded.logits(data), result.logits, atol=1e-5)
        np.testing.assert_array_equal(loaded.predict(data), result.predictions())
        assert np.allclose(loaded.predict_proba(data).sum(1), 1) and "\n" not in repr(loaded)
    np.testing.assert_array_equal(result.predict(data), result.predictions())


def test_saved_models_of_other_tasks(tmp_path):
    edges, x, y, masks = small()
    ptr = graph_set()[1]
    graphs = rodeo.Dataset(graph_set()[0], np.ones((ptr[-1], 1)), graph_set()[2], graph_ptr=ptr)
    cases = [(dataset(), "gcn", {"task": "link"}), (rodeo.Dataset(edges, x, y + 0.5, **masks), "sage", {}),
             (rodeo.Dataset(edges, x, np.stack([y, 1 - y], 1), **masks), "gcn", {}), (graphs, "gin", {"task": "graph", "fold": 0})]
    for data, model, given in cases:
        result = rodeo.train(data, model, **given, **FAST)
        result.save(tmp_path / "m.safetensors")
        loaded = rodeo.load_model(tmp_path / "m.safetensors")
        if result.task == "link":  # embeddings of the result see the edges of training only
            np.testing.assert_allclose(loaded.score(data, edges[:, :9]), result.score(edges[:, :9]), atol=1e-5)
            with pytest.raises(ValueError, match="model.score"):
                loaded.predict(data)
        else:
            np.testing.assert_allclose(loaded.logits(data), result.logits, atol=1e-5)
            np.testing.assert_allclose(loaded.predict(data), result.predictions(), atol=1e-5)
            assert result.predictions().shape == loaded.logits(data).shape[:1 + (result.regression or loaded.description["multi_label"])]


def test_results_have_one_line_and_are_pickled():
    results = rodeo.train(dataset(), seeds=2, **FAST)
    for made in results, results.runs[0]:
        assert "\n" not in repr(made) and len(repr(made)) < 200 and "test=" in repr(made)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).predictions(), made.predictions())


def test_saved_models_make_their_input_features(tmp_path):
    edges, _, y, masks = small()
    data = rodeo.Dataset(edges, None, y, **masks)
    result = rodeo.train(data, "gcn", input_features="random", **FAST)
    result.save(tmp_path / "m.safetensors")
    assert result.num_features == header(tmp_path / "m.safetensors")["num_features"] == 64
    np.testing.assert_array_equal(rodeo.load_model(tmp_path / "m.safetensors").predict(data), result.predictions())


def test_files_that_are_no_models_are_refused(tmp_path):
    result = rodeo.train(dataset(), **FAST)
    result.save(tmp_path / "m.safetensors")
    good = (tmp_path / "m.safetensors").read_bytes()
    for bad, text in [(b"", "no safetensors"), (good[:50], "no safetensors"), (good[:-40], "no safetensors"),
                      (good.replace(b'\\"num_features\\"', b'\\"num_featureX\\"'), "damaged"),
                      (good.replace(b'"rodeo":', b'"rodex":'), "not written by Rodeo")]:
        (tmp_path / "bad.safetensors").write_bytes(bad)
        with pytest.raises(ValueError, match=f"bad.safetensors.*{text}"):
            rodeo.load_model(tmp_path / "bad.safetensors")
    with pytest.raises(ValueError, match="reads 5 features"):
        rodeo.load_model(tmp_path / "m.safetensors").predict(rodeo.Dataset(small()[0], np.ones((60, 2))))


def test_unknown_options_and_missing_parts_are_named():
    edges, x, y, masks = small()
    for given, text in [({"hiden": 3}, "did you mean 'hidden'"), ({"learning_rate": 3}, "rodeo.options"), ({"weight_decy": 3}, "'weight_decay'"),
                        ({"weight-decay": 0.1, "epocs": 2}, "'epochs'")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(dataset(), **given)
    rodeo.train(dataset(), no_graph=True, **FAST)  # the older name of no_cuda_graph
    for data, text in [(rodeo.Dataset(edges, x, y), "no training nodes: give train_mask"), (rodeo.Dataset(edges, x), "no labels: give y"),
                       (rodeo.Dataset(edges, None, y, **masks), "no features: give x to rodeo.Dataset, or input_features=")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(data, **FAST)


def test_masks_are_numbers_too():
    edges, x, y, masks = small()
    for dtype in "uint8", "int64":
        data = rodeo.Dataset(edges, x, y, **{name: mask.astype(dtype) for name, mask in masks.items()})
        np.testing.assert_array_equal(data.arrays()["train"], np.flatnonzero(masks["train_mask"]))
    assert list(rodeo.Dataset(edges[:, :0], None, [0, 0], train_mask=[0, 1]).arrays()["train"]) == [0, 1]  # ids of two nodes


def test_data_of_pyg():
    torch, pyg = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    edges, x, y, masks = small()
    tensors = {name: torch.tensor(mask) for name, mask in masks.items()}
    data = pyg.Data(x=torch.tensor(x), edge_index=torch.tensor(edges), y=torch.tensor(y), **tensors)
    expected = rodeo.train(dataset(), **FAST).logits
    np.testing.assert_array_equal(rodeo.train(data, **FAST).logits, expected)
    several = pyg.Data(x=data.x, edge_index=data.edge_index, y=data.y,
                       **{name: torch.stack([~mask, mask], 1) for name, mask in tensors.items()})
    np.testing.assert_array_equal(rodeo.train(rodeo.Dataset.from_pyg(several, split=1), **FAST).logits, expected)
    with pytest.raises(ValueError, match=r"split must be in \[0, 2\)"):
        rodeo.Dataset.from_pyg(several, split=2)
    ei, ptr, labels = graph_set()
    graphs = [pyg.Data(x=torch.ones(b - a, 1), edge_index=torch.tensor(ei[:, (ei[0] >= a) & (ei[0] < b)] - a), y=torch.tensor([label]))
              for a, b, label in zip(ptr[:-1], ptr[1:], labels)]
    batch = pyg.Batch.from_data_list(graphs)
    for made in rodeo.Dataset.from_pyg(graphs), rodeo.Dataset.from_pyg(batch):
        np.testing.assert_array_equal(made.arrays()["graph_ptr"], ptr)
        np.testing.assert_array_equal(made.arrays()["graph_y"], labels)
        np.testing.assert_array_equal(made.arrays()["dst"], ei[1])
    with pytest.raises(ValueError, match="to_homogeneous"):
        rodeo.Dataset.from_pyg(pyg.HeteroData({"a": {"x": torch.ones(2, 1)}}))
    with pytest.raises(ValueError, match="got dict"):
        rodeo.train({})


def test_a_graph_with_named_elements_is_no_list():
    class Data:  # PyG's has a length and elements, too
        def __init__(self, **arrays):
            self.__dict__.update(arrays, num_nodes=60)

        def __len__(self):
            return len(self.__dict__)

        def __getitem__(self, name):
            return self.__dict__[name]

    edges, x, y, masks = small()
    graph = Data(edge_index=edges, x=x, y=y, **masks)
    expected = rodeo.train(dataset(), **FAST).logits
    np.testing.assert_array_equal(rodeo.train(graph, **FAST).logits, expected)
    np.testing.assert_array_equal(rodeo.train([graph], **FAST).logits, expected)
    with pytest.raises(ValueError, match="from_dgl wants a graph of DGL, .* got Data"):
        rodeo.Dataset.from_dgl(graph)


def test_data_of_networkx_and_pandas_and_ogb():
    edges, x, y, masks = small()
    networkx, pandas = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    graph = networkx.Graph()
    for node in range(60):
        graph.add_node(f"n{node}", x=x[node], y=["even", "odd"][y[node]], size=node, **{name: bool(m[node]) for name, m in masks.items()})
    graph.add_edges_from((f"n{a}", f"n{b}", {"w": 2.0}) for a, b in edges.T)
    made = rodeo.Dataset.from_networkx(graph, weight="w")
    loops = networkx.number_of_selfloops(graph)
    assert made.num_edges == 2 * graph.number_of_edges() - loops and made.num_classes == 2 and made.arrays()["edge_weight"].max() == 2
    np.testing.assert_array_equal(made.arrays()["y"], y)
    np.testing.assert_array_equal(made.arrays()["test"], np.flatnonzero(masks["test_mask"]))
    assert rodeo.Dataset.from_networkx(graph, x=["size"]).num_features == 1 and rodeo.train(graph, **FAST).logits.shape == (60, 2)
    graph.add_node("extra", y="odd")
    with pytest.raises(ValueError, match="'extra' has no attribute 'x'"):
        rodeo.Dataset.from_networkx(graph)

    names = [f"n{node}" for node in range(60)]
    nodes = pandas.DataFrame(x, index=names, columns=list("abcde")).assign(kind=np.array(["even", "odd"])[y], **masks)
    table = pandas.DataFrame({"source": np.array(names)[edges[0]], "target": np.array(names)[edges[1]]})
    framed = rodeo.Dataset.from_pandas(nodes, table, y="kind")
    np.testing.assert_array_equal(rodeo.train(framed, **FAST).logits, rodeo.train(dataset(), **FAST).logits)
    plain = rodeo.Dataset(pandas.DataFrame(edges.T), pandas.DataFrame(x), pandas.Series(y), **{n: pandas.Series(m) for n, m in masks.items()})
    np.testing.assert_array_equal(rodeo.train(plain, **FAST).logits, rodeo.train(dataset(), **FAST).logits)
    nodes.loc["n0", "kind"] = None
    assert rodeo.Dataset.from_pandas(nodes.drop(columns=list(masks)), table, y="kind").arrays()["y"][0] == -1
    table.loc[3, "target"] = "nobody"
    for change, text in [({"y": "colour"}, "no column 'colour'"), ({"y": "kind"}, "names 'nobody' as target")]:
        with pytest.raises(ValueError, match=text):
            rodeo.Dataset.from_pandas(nodes, table, **change)

    class Ogb:
        name = "ogbn-toy"

        def __len__(self):
            return 1

        def __getitem__(self, i):
            return {"edge_index": edges, "node_feat": x, "edge_feat": None, "num_nodes": 60}, y[:, None]

        def get_idx_split(self):
            return {name: np.flatnonzero(masks[mask]) for name, mask in (("train", "train_mask"), ("valid", "val_mask"), ("test", "test_mask"))}

    np.testing.assert_array_equal(rodeo.train(Ogb(), **FAST).logits, rodeo.train(dataset(), **FAST).logits)
    assert rodeo.Dataset.from_ogb(Ogb()).name == "ogbn-toy"


def test_a_torch_file_keeps_a_graph():
    torch = pytest.importorskip("torch")
    buffer = io.BytesIO()
    torch.save({"graph": rodeo.Graph.from_edge_index(torch.tensor(small()[0]), 60)}, buffer)
    buffer.seek(0)
    assert torch.load(buffer, weights_only=False)["graph"].num_edges == 400


def test_a_graph_on_a_gpu_names_the_packages_that_have_arrays_there(monkeypatch):
    from rodeo.graph import _like_on
    for package in ("torch", "cupy"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match="arrays on cuda:0 are those of PyTorch or CuPy, and neither is installed"):
        _like_on("cuda:0")
