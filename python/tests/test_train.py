"""Datasets, rodeo.train and NodeClassifier."""
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
                        ({"model": "mlp"}, "mlp"), ({"device": "tpu"}, "tpu"), ({"split": "9"}, "split"),
                        ({"split": "50/60/10"}, "50/60/10"), ({"quiet": True}, "command only"), ({"resume": True}, "checkpoint")]:
        with pytest.raises(ValueError, match=text):
            rodeo.train(dataset, **{"epochs": 2, **given})
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


def test_ctrl_c_ends_training():
    program = ("import rodeo, sys\n"
               "d = rodeo.Dataset.generate('cora')\n"
               "def say(e):\n"
               "    if e['epoch'] == 3: print('going', flush=True)\n"
               "try:\n"
               "    rodeo.train(d, epochs=1000000, device='cpu', callback=say)\n"
               "except KeyboardInterrupt:\n"
               "    print('interrupted')\n")
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
    assert classifier.score(names, masks["test_mask"]) > 0.7
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
