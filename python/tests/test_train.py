"""Datasets, rodeo.train and NodeClassifier."""
import ctypes
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import rodeo


@pytest.fixture(scope="module")
def cora():
    return rodeo.Dataset.generate("cora", seed=1)


def small(nodes=60, seed=0):
    """Two communities with features that tell them apart."""
    random = np.random.default_rng(seed)
    y = np.arange(nodes) % 2
    source = random.integers(0, nodes, 400)
    target = (source + 2 * random.integers(0, nodes // 2, 400)) % nodes
    x = random.standard_normal((nodes, 5)).astype("float32") + y[:, None]
    masks = {name: np.arange(nodes) % 3 == k for k, name in enumerate(("train_mask", "val_mask", "test_mask"))}
    return np.stack([source, target]), x, y, masks


def test_training_learns_and_repeats_its_bits(cora):
    epochs = []
    result = rodeo.train(cora, model="gcn", epochs=60, device="cpu", callback=epochs.append)
    assert result.epochs == 60 and len(result.history) == 60 and epochs == result.history
    assert result.best["val"] > 0.6 and result.history[-1]["loss"] < result.history[0]["loss"]
    assert result.logits.shape == (2708, 7) and set(result.weights) == {"conv1.bias", "conv1.lin.weight", "conv2.bias",
                                                                       "conv2.lin.weight"}
    arrays = cora.arrays()
    accuracy = (result.predictions()[arrays["test"]] == arrays["y"][arrays["test"]]).mean()
    assert abs(accuracy - result.best["test"]) < 1e-6
    again = rodeo.train(cora, model="gcn", epochs=60, device="cpu")
    np.testing.assert_array_equal(again.logits, result.logits)
    assert (rodeo.train(cora, epochs=5, seed=3, device="cpu").logits != result.logits).any()


@pytest.mark.parametrize("model", ["gat", "gatv2", "sage", "gin", "sgc", "appnp"])
def test_every_model_trains(model):
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    result = rodeo.train(dataset, model, epochs=30, device="cpu")
    assert result.best["train"] > 0.7 and np.isfinite(result.logits).all()


def test_datasets_go_to_files_and_back(tmp_path):
    edges, x, y, masks = small()
    weight = np.linspace(0.5, 1, edges.shape[1], dtype="float32")
    dataset = rodeo.Dataset(edges, x, y, edge_weight=weight, name="two", **masks)
    dataset.save(tmp_path / "two.h5")
    back = rodeo.Dataset.load(tmp_path / "two.h5")
    for name, array in dataset.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], array)
    assert (back.name, back.num_nodes, back.num_edges, back.num_features, back.num_classes) == ("two", 60, 400, 5, 2)
    one, other = (rodeo.train(d, epochs=5, device="cpu") for d in (dataset, str(tmp_path / "two.h5")))
    np.testing.assert_array_equal(one.logits, other.logits)
    assert rodeo.Graph.load(tmp_path / "two.h5").num_edges == back.graph().num_edges == 400


def test_options_have_the_commands_names_and_errors():
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    assert rodeo.options("gat")["heads"][0] == "8" and "heads" not in rodeo.options("gcn")
    result = rodeo.train(dataset, epochs=3, hidden=9, no_cuda_graph=True, undirected=True, device="cpu", normalize_features="none")
    assert result.weights["conv1.lin.weight"].shape == (9, 5)
    for given, text in [({"hiden": 3}, "hiden"), ({"hidden": 0}, "hidden"), ({"lr": "fast"}, "lr"), ({"heads": 2}, "heads"),
                        ({"model": "nn"}, "nn"), ({"device": "tpu"}, "tpu"), ({"momentum": 0.9}, "optimizer"), ({"split": "9"}, "split"),
                        ({"split": "50/60/10"}, "50/60/10"), ({"quiet": True}, "command only"), ({"resume": True}, "checkpoint")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(dataset, **{"epochs": 2, **given})
    losses = {name: [epoch["loss"] for epoch in rodeo.train(dataset, epochs=5, device="cpu", optimizer=name, **more).history]
              for name, more in [("adam", {}), ("adamw", {}), ("sgd", {"momentum": 0.9, "nesterov": True})]}
    assert losses["adam"][0] == losses["adamw"][0] == losses["sgd"][0] and len({str(x) for x in losses.values()}) == 3
    assert rodeo.options("gcn")["optimizer"][0] == "adam"
    assert rodeo.train(rodeo.Dataset(edges, x, y), split="50/25/25", epochs=2, device="cpu").epochs == 2
    for incomplete in rodeo.Dataset(edges, x), rodeo.Dataset(edges, None, y, **masks), rodeo.Dataset(edges, x, y):
        with pytest.raises(ValueError):
            rodeo.train(incomplete, epochs=2, device="cpu")


def test_files_of_a_run(tmp_path):
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    whole = rodeo.train(dataset, epochs=20, device="cpu", log=tmp_path / "run.jsonl", export=tmp_path / "w.safetensors")
    assert (tmp_path / "run.jsonl").read_text().count("\n") > 20 and (tmp_path / "w.safetensors").stat().st_size > 100
    rodeo.train(dataset, epochs=10, device="cpu", checkpoint=tmp_path / "c")
    rest = rodeo.train(dataset, epochs=20, device="cpu", checkpoint=tmp_path / "c", resume=True)
    assert len(rest.history) == 10
    np.testing.assert_array_equal(rest.weights["conv1.bias"].shape, whole.weights["conv1.bias"].shape)


def test_an_exception_in_a_callback_is_raised():
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    seen = []

    def stop(epoch):
        seen.append(epoch["epoch"])
        if len(seen) == 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        rodeo.train(dataset, epochs=100, device="cpu", callback=stop)
    assert seen == [1, 2, 3]
    assert rodeo.train(dataset, epochs=2, device="cpu").epochs == 2


def test_training_empties_the_cache_also_where_it_fails(monkeypatch):
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    calls = []
    monkeypatch.setattr(rodeo._core, "empty_cache", lambda: calls.append(len(calls)))
    rodeo.train(dataset, epochs=2, device="cpu")
    assert calls == [0]
    with pytest.raises(ZeroDivisionError):
        rodeo.train(dataset, epochs=2, device="cpu", callback=lambda epoch: 1 // 0)
    assert calls == [0, 1]
    assert rodeo.empty_cache() is None


def test_memory_of_a_gpu_is_returned():
    if not rodeo.build_info()["cuda_devices"]:
        pytest.skip("no CUDA device: " + rodeo.build_info()["cuda_absence"])
    driver, pool = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()

    def held(attribute):  # bytes of this process's memory pool: 5 are those of now, 6 the most
        value = ctypes.c_uint64()
        assert driver.cuMemPoolGetAttribute(pool, attribute, ctypes.byref(value)) == 0
        return value.value

    nodes = 20000
    edges, x, y, masks = small(nodes)
    dataset = rodeo.Dataset(edges, x, y, **masks)
    rodeo.train(dataset, epochs=2, device="cuda")
    assert driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0) == 0
    before = held(5)
    rodeo.train(dataset, epochs=2, device="cuda", hidden=4096)
    assert held(6) - before > nodes * 4096 * 4 and held(5) - before < 2**26


@pytest.mark.parametrize("ranks", [1, 2])
def test_ctrl_c_ends_training(ranks):
    program = ("import rodeo, sys\n"
               "d = rodeo.Dataset.generate('cora')\n"
               "def say(e):\n"
               "    if e['epoch'] == 3: print('going', flush=True)\n"
               "try:\n"
               "    rodeo.train(d, epochs=1000000, device='cpu', ranks=RANKS, callback=say)\n"
               "except KeyboardInterrupt:\n"
               "    print('interrupted')\n").replace("RANKS", str(ranks))
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))})
    assert process.stdout.readline() == "going\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "interrupted\n" and process.returncode == 0


@pytest.mark.parametrize("change, text", [
    ({"edge_index": np.zeros((3, 2), int)}, r"\[2, edges\]"),
    ({"edge_index": np.zeros((2, 2))}, "integers"),
    ({"edge_index": np.array([[0], [99]]), "num_nodes": 60}, "60 nodes"),
    ({"edge_index": np.array([[0], [-1]])}, "-1"),
    ({"x": np.zeros((60, 2, 2))}, "features"),
    ({"x": np.full((60, 2), np.nan)}, "not finite"),
    ({"y": np.zeros(60, complex)}, "integers or floats"),
    ({"y": np.full(60, np.inf)}, "infinite"),
    ({"y": np.full((60, 2), 2)}, "-1 where it is unknown"),
    ({"y": np.full(60, 3), "num_classes": 2}, "label 3"),
    ({"y": np.full(60, -1)}, "no label"),
    ({"train_mask": np.ones(60, bool)}, "another part"),
    ({"train_mask": np.ones(7, bool)}, "60 nodes"),
    ({"train_mask": np.array([77])}, "77"),
    ({"edge_weight": np.ones(3)}, r"\[400\]"),
])
def test_datasets_are_checked(change, text):
    edges, x, y, masks = small()
    with pytest.raises(ValueError, match=text):
        rodeo.Dataset(**{"edge_index": edges, "x": x, "y": y, **masks, **change})


def test_regression_predicts_numbers(tmp_path):
    edges, x, y, masks = small()
    targets = np.stack([y + 0.5, 3.0 * y], 1)
    targets[::7, 1] = np.nan
    data = rodeo.Dataset(edges, x, targets, **masks)
    result = rodeo.train(data, model="sage", epochs=80, device="cpu", lr=0.05)
    assert result.regression and result.best["test"] > 0.5
    assert result.predictions().shape == (60, 2) and result.predictions().dtype == np.float32
    data.save(tmp_path / "r.h5")
    np.testing.assert_array_equal(rodeo.Dataset.load(tmp_path / "r.h5").arrays()["y"], targets.astype("float32"))
    single = rodeo.train(rodeo.Dataset(edges, x, y + 0.5, **masks), model="gcn", epochs=5, device="cpu", metric="mae")
    assert single.best["val"] < 0
    single.save(tmp_path / "m.safetensors")
    for made in single, rodeo.load_model(tmp_path / "m.safetensors"):
        assert made.task == "regression" and "task='regression'" in repr(made)


def test_degrees_are_cut_as_in_training():
    edges, x, y, masks = small()
    result = rodeo.train(rodeo.Dataset(edges, x, y, **masks), model="gcn", epochs=1, device="cpu", input_features="degree")
    path = np.stack([np.arange(9), np.arange(1, 10)])
    assert result.predict(rodeo.Dataset(path, np.ones((10, 1), "float32"), np.zeros(10, int))).shape == (10,)


def test_arrays_that_would_lose_their_meaning_are_refused():
    edges, x, y, masks = small()
    with pytest.raises(ValueError, match="labels are floats: give task='regression'"):
        rodeo.train(rodeo.Dataset(edges, x, y + 0.5, **masks), task="node", epochs=1)
    with pytest.raises(ValueError, match="must be real, got complex128"):
        rodeo.Dataset(edges, x + 1j, y, **masks)
    classifier = rodeo.NodeClassifier("gcn", epochs=1)
    for ids, text in [(np.array([0.2, 1.9, 5.0]), "integer ids"), (np.ones(30, bool), "mask of 60 nodes"), (np.array([60]), "outside")]:
        with pytest.raises(ValueError, match=f"train_mask .*{text}"):
            classifier.fit(edges, x, y, ids)
    classifier.fit(edges, x, y)
    with pytest.raises(ValueError, match="mask of 60 nodes"):
        classifier.score(np.ones(30, bool), y[:30])
    with pytest.raises(ValueError, match="got a mask"):
        classifier.score(y, np.ones(60, bool))


def test_weights_keep_the_scales_of_features_and_targets():
    edges, x, y, masks = small()
    x[:, 0] = 5000 + 800 * x[:, 0]
    classifier = rodeo.NodeClassifier("gcn", epochs=40, device="cpu").fit(edges, x, y, masks["train_mask"])
    scales = classifier.result_.scales
    assert scales["normalize_features"] == "standard" and len(scales["feature_mean"]) == 5 and "target_mean" not in scales
    np.testing.assert_allclose(classifier._logits(rodeo.Graph.from_edge_index(edges, 60), x), classifier.result_.logits, atol=1e-5)
    assert (classifier.predict(rodeo.Graph.from_edge_index(edges, 60), 0 * x) != classifier.predict()).any()
    data = rodeo.Dataset(edges, x, (1e6 + 1e5 * y)[:, None], **masks)
    runs = [rodeo.train(data, model="gcn", epochs=60, device="cpu", **more) for more in ({}, {"ranks": 2})]
    for run in runs:
        assert run.scales["normalize_features"] == "standard" and run.scales["target_deviation"][0] > 1e4
        assert 0.9e6 < run.predictions().mean() < 1.2e6
    np.testing.assert_allclose(runs[0].scales["feature_mean"], runs[1].scales["feature_mean"], rtol=1e-6)


def test_missing_labels_of_several_are_left_out():
    edges, x, y, masks = small()
    labels = np.stack([y, 1 - y, y], 1)
    labels[::5, 2] = -1
    result = rodeo.train(rodeo.Dataset(edges, x, labels, **masks), model="sage", epochs=60, device="cpu", lr=0.05)
    assert result.best["test"] > 0.7


def test_damaged_files_are_refused(tmp_path):
    (tmp_path / "no.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 8)
    with pytest.raises(ValueError, match="no.h5"):
        rodeo.Dataset.load(tmp_path / "no.h5")


def test_threads_read_files_at_once(tmp_path, cora):
    cora.save(tmp_path / "c.h5")
    seen = []
    threads = [threading.Thread(target=lambda: seen.append(rodeo.Dataset.load(tmp_path / "c.h5").num_edges)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [cora.num_edges] * 8


def test_settings_of_a_run_end_with_it(cora):
    before = rodeo.num_threads()
    rodeo.train(cora, epochs=2, threads=before + 1, device="cpu")
    assert rodeo.num_threads() == before


def test_node_classifier():
    edges, x, y, masks = small()
    names = np.array(["even", "odd"])[y]
    classifier = rodeo.NodeClassifier("gcn", epochs=60, device="cpu", normalize_features="none")
    labels = classifier.fit(edges, x, names, masks["train_mask"]).predict()
    assert (labels == names).mean() > 0.8 and list(classifier.classes_) == ["even", "odd"]
    np.testing.assert_allclose(classifier.predict_proba().sum(1), 1)
    assert classifier.score(masks["test_mask"], names[masks["test_mask"]]) > 0.7
    assert (classifier.predict(rodeo.Graph.from_edge_index(edges, 60), x) == labels).all()
    assert rodeo.NodeClassifier(**classifier.get_params()).get_params() == classifier.get_params()
    with pytest.raises(ValueError, match="fit first"):
        rodeo.NodeClassifier().predict()


def test_weights_run_in_pytorch(cora):
    torch = pytest.importorskip("torch", minversion="2.4")
    from rodeo.torch.nn import GCNConv
    result = rodeo.train(cora, epochs=20, device="cpu", normalize_features="none", features="dense")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1, self.conv2 = GCNConv(1433, 16), GCNConv(16, 7)

        def forward(self, x, edges):
            return self.conv2(self.conv1(x, edges).relu(), edges)

    net = Net()
    net.load_state_dict(result.state_dict())
    arrays = cora.arrays()
    edges = cora.graph()
    if "x" in arrays:
        x = torch.tensor(arrays["x"])
    else:
        x = torch.sparse_csr_tensor(*(torch.tensor(arrays[n]) for n in ("x_indptr", "x_indices", "x_data")), (2708, 1433)).to_dense()
    with torch.no_grad():
        logits = net(x, rodeo.Graph.from_edge_index(torch.tensor(np.stack([np.asarray(e) for e in edges.edge_index()])), 2708))
    np.testing.assert_allclose(logits.numpy(), result.logits, atol=1e-3)


def test_seeds_have_means_and_deviations():
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    epochs = []
    results = rodeo.train(dataset, epochs=10, seeds=3, seed=5, device="cpu", callback=epochs.append)
    assert [run.seed for run in results.runs] == [5, 6, 7] and len(epochs) == 30
    assert [e["run"] for e in epochs[::10]] == [0, 1, 2] and epochs[-1]["seed"] == 7
    tests = [run.best["test"] for run in results.runs]
    assert results.mean["test"] == pytest.approx(np.mean(tests)) and results.deviation["test"] == pytest.approx(np.std(tests, ddof=1))
    alone = rodeo.train(dataset, epochs=10, seed=6, device="cpu")
    np.testing.assert_array_equal(alone.logits, results.runs[1].logits)
    assert results.best_run.best["val"] == max(run.best["val"] for run in results.runs)
    assert results.predictions().shape == (60,) and set(results.weights) == set(alone.weights)
    for given, text in [({"seeds": 0}, "seeds"), ({"seeds": 2, "checkpoint": "c"}, "one run"), ({"seeds": "2"}, "seeds"),
                        ({"splits": "all"}, "masks"), ({"splits": "some"}, "splits"), ({"parallel": 2}, "command only"),
                        ({"gpus": 1, "ranks": 1}, "leave one out"), ({"gpus": -1}, "gpus"), ({"task": "edge"}, "edge"),
                        ({"task": "regression"}, "floats"), ({"task": "graph"}, "set of graphs")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(dataset, epochs=2, device="cpu", **given)


def test_all_splits_of_a_file(tmp_path):
    edges, x, y, masks = small()
    h5py = pytest.importorskip("h5py")
    rodeo.Dataset(edges, x, y, **masks).save(tmp_path / "s.h5")
    with h5py.File(tmp_path / "s.h5", "r+") as file:
        for name, k in (("train_mask", 0), ("val_mask", 1), ("test_mask", 2)):
            del file[name]
            file[name] = np.stack([np.arange(60) % 3 == (k + s) % 3 for s in range(2)], 1).astype("u1")
    results = rodeo.train(tmp_path / "s.h5", epochs=3, splits="all", device="cpu")
    assert len(results.runs) == 2


def test_links():
    edges, x, y, masks = small(nodes=80)
    dataset = rodeo.Dataset(edges, x)
    result = rodeo.train(dataset, "gcn", task="link", epochs=30, undirected=True, device="cpu", embedding=8, reorder="rcm")
    assert result.task == "link" and result.logits.shape == (80, 8) and result.best["test"] > 0.5 and "AUC" in result.details
    scores = result.score(edges[:, :7])
    assert scores.shape == (7,) and scores.dtype == np.float32 and np.isfinite(scores).all()
    np.testing.assert_array_equal(result.score(edges[:, 2:5]), scores[2:5])
    with pytest.raises(ValueError, match="result.score"):
        result.predictions()
    for pairs, text in [(edges[0], r"\[2, pairs\]"), (np.array([[0], [80]]), "80 nodes"), (edges * 1.0, "integers")]:
        with pytest.raises(ValueError, match=text):
            result.score(pairs)
    with pytest.raises(ValueError, match="no option 'split' for task link"):
        rodeo.train(dataset, task="link", split="60/20/20", epochs=2, device="cpu")
    assert rodeo.options("gcn", "link")["decoder"][0] == "dot" and "decoder" not in rodeo.options("gcn")


def graph_set(graphs=60, seed=0):
    """Cycles, and cycles with a chord from each node: two classes."""
    random = np.random.default_rng(seed)
    ptr, parts, y = [0], [], random.integers(0, 2, graphs)
    for label in y:
        n = random.integers(6, 10)
        i = np.arange(n)
        pairs = [(i, (i + 1) % n)] + ([(i, (i + 3) % n)] if label else [])
        one = np.concatenate([np.stack(p) for p in pairs], 1)
        parts.append(np.concatenate([one, one[::-1]], 1) + ptr[-1])
        ptr.append(ptr[-1] + n)
    return np.concatenate(parts, 1), np.array(ptr), y


def test_graphs_and_folds(tmp_path):
    edges, ptr, y = graph_set()
    dataset = rodeo.Dataset(edges, np.ones((ptr[-1], 1)), y, graph_ptr=ptr)
    assert dataset.num_graphs == 60 and dataset.num_classes == 2
    one = rodeo.train(dataset, "gin", task="graph", fold=1, folds=4, epochs=20, hidden=16, batch_graphs=16, device="cpu")
    assert one.logits.shape == (60, 2) and one.best["test"] > 0.8 and one.predictions().shape == (60,)
    all_folds = rodeo.train(dataset, "gin", task="graph", folds=4, epochs=3, hidden=16, batch_graphs=16, device="cpu")
    assert len(all_folds.runs) == 4 and 0 <= all_folds.mean["test"] <= 1
    dataset.save(tmp_path / "g.h5")
    again = rodeo.train(tmp_path / "g.h5", "gin", task="graph", fold=1, folds=4, epochs=20, hidden=16, batch_graphs=16, device="cpu")
    np.testing.assert_array_equal(again.logits, one.logits)
    with pytest.raises(ValueError, match="set of graphs, for task graph"):
        rodeo.train(dataset, epochs=2, device="cpu")
    for change, text in [({"graph_ptr": ptr[:-1]}, "graph_ptr"), ({"graph_ptr": ptr[::-1]}, "graph_ptr"),
                         ({"graph_ptr": np.array([0, 3, ptr[-1]]), "y": [0, 1]}, "another graph"), ({"y": y[1:]}, r"integers \[60\]"),
                         ({"y": None}, r"integers \[60\]"), ({"y": y, "num_classes": 1}, "label 1")]:
        with pytest.raises(ValueError, match=text):
            rodeo.Dataset(**{"edge_index": edges, "x": np.ones((ptr[-1], 1)), "y": y, "graph_ptr": ptr, **change})


def test_edge_features_of_a_dataset(tmp_path):
    edges, x, y, masks = small()
    features = np.random.default_rng(1).standard_normal((400, 3)).astype("float32")
    dataset = rodeo.Dataset(edges, x, y, edge_attr=features, **masks)
    result = rodeo.train(dataset, "gatv2", epochs=10, edge_features=True, device="cpu")
    assert any("edge" in name for name in result.weights)
    dataset.save(tmp_path / "e.h5")
    np.testing.assert_array_equal(rodeo.Dataset.load(tmp_path / "e.h5").arrays()["edge_attr"].shape, (400, 3))
    with pytest.raises(ValueError, match="edge_attr"):
        rodeo.Dataset(edges, x, y, edge_attr=features[1:])


def test_ranks_on_the_cpu(tmp_path):
    edges, x, y, masks = small()
    dataset = rodeo.Dataset(edges, x, y, **masks)
    epochs = []
    shared = rodeo.train(dataset, epochs=12, ranks=2, device="cpu", dropout=0, callback=epochs.append, log=tmp_path / "l.jsonl")
    alone = rodeo.train(dataset, epochs=12, device="cpu", dropout=0)
    assert len(shared.history) == 12 and epochs == shared.history and set(epochs[0]) == set(alone.history[0])
    assert set(shared.weights) == set(alone.weights) and (tmp_path / "l.jsonl").exists()
    np.testing.assert_allclose([e["loss"] for e in shared.history], [e["loss"] for e in alone.history], rtol=1e-3)
    np.testing.assert_allclose(shared.logits, alone.logits, atol=1e-2)

    def stop(epoch):
        if epoch["epoch"] >= 3:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        rodeo.train(dataset, epochs=100000, ranks=2, device="cpu", callback=stop)
    for given, text in [({"hidden": 0}, "hidden"), ({"hiden": 3}, "hiden")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(dataset, ranks=2, device="cpu", **{"epochs": 2, **given})


def test_other_tasks_over_ranks():
    edges, x, y, _ = small(nodes=80)
    given = {"epochs": 8, "device": "cpu", "dropout": 0}
    one, two = (rodeo.train(rodeo.Dataset(edges, x), task="link", undirected=True, embedding=8, ranks=ranks, **given) for ranks in (0, 2))
    np.testing.assert_allclose(two.score(edges[:, :9]), one.score(edges[:, :9]), atol=1e-3)
    assert list(two.details) == list(one.details) and two.details["AP"] == pytest.approx(one.details["AP"], abs=1e-3)
    assert two.task == "link" and two.logits.shape == (80, 8)
    edges, ptr, y = graph_set()
    graphs = rodeo.Dataset(edges, np.ones((ptr[-1], 1)), y, graph_ptr=ptr)
    one, two = (rodeo.train(graphs, "gin", task="graph", fold=1, folds=4, hidden=16, batch_graphs=16, ranks=ranks, **given) for ranks in (0, 2))
    assert two.logits.shape == one.logits.shape == (60, 2) and two.best["test"] == pytest.approx(one.best["test"], abs=0.15)


def test_the_module_is_the_command(tmp_path, cora):
    cora.save(tmp_path / "c.h5")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    for arguments, code in [(["--help"], 0), (["--model", "gcn", "--dataset", str(tmp_path / "c.h5"), "--epochs", "3", "--device", "cpu"], 0), (["--hidden"], 2)]:
        done = subprocess.run([sys.executable, "-m", "rodeo", *arguments], capture_output=True, text=True, env=environment, timeout=120)
        assert done.returncode == code, done.stderr
        assert ("rodeo_train" in done.stdout + done.stderr) or "test" in done.stdout


def test_other_commands_of_the_wheel(tmp_path, cora):
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    package = os.path.dirname(rodeo._core.__file__)
    if not all(os.access(os.path.join(package, name), os.X_OK) for name in ("rodeo_predict", "rodeo_data")):
        done = subprocess.run([sys.executable, "-m", "rodeo", "predict"], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 1 and "is not in the package" in done.stderr
        pytest.skip("rodeo_predict and rodeo_data were not built beside the package")
    cora.save(tmp_path / "c.h5")
    result = rodeo.train(cora, epochs=5, device="cpu")
    result.save(tmp_path / "w.safetensors")
    for words in ["data", "inspect", "c.h5"], ["predict", "--dataset", "c.h5", "--weights", "w.safetensors", "--out", "p.csv", "--device", "cpu"]:
        done = subprocess.run([sys.executable, "-m", "rodeo", *words], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False)
        assert done.returncode == 0, done.stderr
    lines = (tmp_path / "p.csv").read_text().splitlines()
    assert [int(line.split(",")[1]) for line in lines[1:]] == list(result.predictions())
    done = subprocess.run([sys.executable, "-m", "rodeo", "data", "import", "none.npz", "x.h5"], capture_output=True, text=True, env=environment,
                          cwd=tmp_path, check=False)
    assert done.returncode != 0 and "to_h5.py none.npz x.h5" in done.stdout, done.stdout + done.stderr
