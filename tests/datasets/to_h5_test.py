"""datasets/to_h5.py on archives that NumPy and SciPy write, and on objects with the interfaces of PyG, DGL and OGB. On
tables, GraphML and NetworkX graphs where pandas, pyarrow and NetworkX are installed.

  to_h5_test.py SOURCE_DIR RODEO_DATA: exit code 77 where h5py, NumPy or SciPy are absent
"""

import importlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

try:
    import h5py
    import numpy as np
    import scipy.sparse as sparse
except ImportError as absent:
    print(f"Skipped: {absent}")
    sys.exit(77)

ROOT, RODEO_DATA = sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "datasets"))
import to_h5  # noqa: E402


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


networkx, pandas, pyarrow, torch = (optional(name) for name in ("networkx", "pandas", "pyarrow", "torch"))


class Tensor:
    """What a torch tensor does for whom it meets."""

    def __init__(self, values):
        self.values = np.asarray(values)
        self.dtype = self.values.dtype

    def detach(self):
        return self

    cpu = detach

    def numpy(self):
        return self.values

    def __iter__(self):
        return (Tensor(row) for row in self.values)


SRC, DST = [0, 1, 2, 3], [1, 2, 3, 0]
X = np.arange(8, dtype=np.float32).reshape(4, 2)
MASKS = np.eye(3, 4, dtype=bool)


class ToH5(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = self.path("out.h5")

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def check(self, graph, **options):
        """Writes it, has it validated, and returns its arrays."""
        to_h5.write(self.out, **graph, **options)
        done = subprocess.run([RODEO_DATA, "validate", self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with h5py.File(self.out) as file:
            return {key: values[()] for key, values in file.items()} | dict(file.attrs)

    def test_pyg(self):
        data = types.SimpleNamespace(edge_index=Tensor([SRC, DST]), x=Tensor(X), y=Tensor([0, 1, 2, 1]), num_nodes=4,
                                     **{key: Tensor(m) for key, m in zip(to_h5.MASKS, MASKS)})
        got = self.check(to_h5.from_pyg(data, "four"))
        self.assertEqual(got["name"], "four")
        self.assertEqual(got["num_classes"], 3)
        np.testing.assert_array_equal(got["edge_index"], [SRC, DST])
        np.testing.assert_array_equal(got["x"], X)
        np.testing.assert_array_equal(got["val_mask"], MASKS[1])
        both = self.check(to_h5.from_pyg(data), undirected=True)
        self.assertEqual(both["edge_index"].shape, (2, 8))

    def test_what_validate_would_refuse_is_not_written(self):
        graph, two = {"src": SRC, "dst": DST, "num_nodes": 4, "name": "g", "x": X, "y": [0, 1, 0, 1]}, np.eye(4, 2, dtype=bool)
        for change, text in (({"x": np.ones((4, 2, 2))}, "a row of them for each node"),
                             ({"masks": [MASKS[0], MASKS[0], MASKS[2]]}, "train_mask and val_mask both have row 0"),
                             ({"masks": [two[:, 0], two, two]}, "all of one shape"),
                             ({"masks": [MASKS[0] * 2, MASKS[1], MASKS[2]]}, "train_mask must have 0 and 1 only"),
                             ({"masks": list(MASKS), "y": [0, -1, 1, 0]}, "row 1 is in the split and has no label"),
                             ({"x": None, "x_csr": (range(5), [0] * 4, [1, 1, np.nan, 1])}, "must be finite numbers, one is nan"),
                             ({"src": [], "dst": [], "num_nodes": 0, "x": X[:0], "y": []}, "it has no nodes")):
            with self.assertRaisesRegex(to_h5.BadSource, text):
                to_h5.write(self.out, **graph | change)
            self.assertFalse(os.path.exists(self.out))

    def test_links_stay_and_only_files_are_replaced(self):
        graph = {"src": SRC, "dst": DST, "num_nodes": 4, "name": "four"}
        os.symlink("real.h5", self.out)
        self.check(graph)
        self.assertTrue(os.path.islink(self.out) and os.path.isfile(self.path("real.h5")))
        fifo = self.path("fifo.h5")
        os.mkfifo(fifo)
        with self.assertRaisesRegex(to_h5.BadSource, "fifo.h5: is not a regular file"):
            to_h5.write(fifo, **graph)
        self.assertTrue(os.path.exists(fifo) and not os.path.isfile(fifo))

    def test_some_masks_are_no_split(self):
        data = types.SimpleNamespace(edge_index=Tensor([SRC, DST]), num_nodes=4, train_mask=Tensor(MASKS[0]))
        with self.assertWarnsRegex(UserWarning, "there is no val_mask and no test_mask"):
            self.assertNotIn("masks", to_h5.from_pyg(data))

    def test_pyg_sparse_adjacency_and_several_splits(self):
        adj_t = types.SimpleNamespace(coo=lambda: (Tensor(DST), Tensor(SRC), None))
        train = np.stack([MASKS[0], MASKS[1]], 1)
        data = types.SimpleNamespace(edge_index=None, adj_t=adj_t, num_nodes=4, y=Tensor([0, 1, 0, 1]),
                                     train_mask=Tensor(train), val_mask=Tensor(train[:, ::-1]),
                                     test_mask=Tensor(MASKS[2]))
        got = self.check(to_h5.from_pyg(data))
        np.testing.assert_array_equal(got["edge_index"], [SRC, DST])
        self.assertEqual(got["test_mask"].shape, (4, 2))

    def test_dgl(self):
        ndata = {"feat": Tensor(X), "label": Tensor([0, 1, 1, 0])} | dict(zip(to_h5.MASKS, map(Tensor, MASKS)))
        graph = types.SimpleNamespace(edges=lambda: (Tensor(SRC), Tensor(DST)), num_nodes=lambda: 4, ndata=ndata)
        got = self.check(to_h5.from_dgl(graph))
        np.testing.assert_array_equal(got["y"], [0, 1, 1, 0])

    def test_ogb(self):
        class Dataset:
            def __init__(self, y):
                self.y = y

            def __getitem__(self, i):
                return {"edge_index": np.array([SRC, DST]), "num_nodes": 4, "node_feat": X}, self.y

            def get_idx_split(self):
                return {"train": np.array([0]), "valid": np.array([2]), "test": np.array([3])}

        got = self.check(to_h5.from_ogb(Dataset(np.array([[0], [np.nan], [1], [1]]))))
        np.testing.assert_array_equal(got["y"], [0, -1, 1, 1])
        np.testing.assert_array_equal(got["val_mask"], [0, 0, 1, 0])
        self.assertNotIn("edge_attr", got)
        several = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]])
        np.testing.assert_array_equal(self.check(to_h5.from_ogb(Dataset(several)))["y"], several)

    def test_features_of_edges(self):
        """ogbn-proteins has those alone; PyG's may be one number an edge. The reverse of an edge has its features."""
        class Dataset:
            def __init__(self, values):
                self.values = values

            def __getitem__(self, i):
                return {"edge_index": np.array([SRC, DST]), "num_nodes": 4, "node_feat": None, "edge_feat": self.values}, np.eye(4, 3)

            def get_idx_split(self):
                return {"train": np.array([0]), "valid": np.array([2]), "test": np.array([3])}

        got = self.check(to_h5.from_ogb(Dataset(X)))
        self.assertNotIn("x", got)
        np.testing.assert_array_equal(got["edge_attr"], X)
        got = self.check(to_h5.from_ogb(Dataset(X)), undirected=True)
        np.testing.assert_array_equal(got["edge_index"], [[0, 0, 1, 1, 2, 2, 3, 3], [1, 3, 0, 2, 1, 3, 0, 2]])
        np.testing.assert_array_equal(got["edge_attr"], X[[0, 3, 0, 1, 1, 2, 3, 2]])
        with self.assertRaisesRegex(to_h5.BadSource, "of different numbers: \\[4, 4, 3\\]"):
            self.check(to_h5.from_ogb(Dataset(X[:3])))
        pyg = types.SimpleNamespace(num_nodes=4, edge_index=Tensor([SRC, DST]), x=Tensor(X), edge_attr=Tensor([1, 2, 3, 4]))
        np.testing.assert_array_equal(self.check(to_h5.from_pyg(pyg))["edge_attr"], [[1], [2], [3], [4]])
        dgl = types.SimpleNamespace(edges=lambda: (Tensor(SRC), Tensor(DST)), num_nodes=lambda: 4, ndata={},
                                    edata={"feat": Tensor(X), "weight": Tensor([1, 2, 3, 0.5])})
        got = self.check(to_h5.from_dgl(dgl))
        np.testing.assert_array_equal(got["edge_attr"], X)
        np.testing.assert_array_equal(got["edge_weight"], [1, 2, 3, 0.5])

    def test_errors_of_packages_are_sentences(self):
        def broken(kind):
            def make(root):
                raise kind
            return make

        fake = types.SimpleNamespace(__name__="torch_geometric.datasets", Half=broken(ModuleNotFoundError("No module", name="scipy.io")),
                                     Odd=broken(RuntimeError("first line\nsecond")), End=broken(EOFError("EOF when reading")))
        with unittest.mock.patch.dict(sys.modules, {"torch_geometric": types.SimpleNamespace(), "torch_geometric.datasets": fake}):
            for name, said in (("Half", "the package needs another one (pip install scipy): No module"),
                               ("Odd", "cannot load it: RuntimeError: first line\n"), ("End", "EOFError: EOF when"), ("None", "no dataset None")):
                with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                    self.assertEqual(to_h5.main([f"pyg:{name}", self.out]), 2)
                self.assertIn(said, err.getvalue())

    @unittest.skipUnless(torch, "PyTorch is not installed")
    def test_files_of_the_package_ogb(self):
        class Dataset:  # loads its files as ogb 1.3.6 does, which torch.load refuses since PyTorch 2.6
            def __init__(self, name, root):
                self.path = os.path.join(root, name)

            def __getitem__(self, i):
                return tuple(torch.load(self.path, "rb").values())

            def get_idx_split(self):
                return {part: np.array([i]) for i, part in enumerate(("train", "valid", "test"))}

        class Evil:
            def __reduce__(self):
                return os.system, ("true",)

        graph = {"num_nodes": 4, "edge_index": np.array([SRC, DST]), "node_feat": X}
        fake = types.SimpleNamespace(NodePropPredDataset=Dataset)
        with unittest.mock.patch.dict(sys.modules, {"ogb": types.SimpleNamespace(), "ogb.nodeproppred": fake}):
            own = torch.load
            for protocol in (2, 4):
                for y in (np.array([[0], [1], [1], [0]]), torch.tensor([[0], [1], [1], [0]])):
                    torch.save({"graph": graph, "labels": y}, self.path("ogbn-x"), pickle_protocol=protocol)
                    self.assertEqual(to_h5.main(["ogb:ogbn-x", "--root", self.folder.name, self.out]), 0)
                    with h5py.File(self.out) as file:
                        np.testing.assert_array_equal(file["x"], X)
                        np.testing.assert_array_equal(file["y"], [0, 1, 1, 0])
            torch.save({"graph": graph, "labels": Evil()}, self.path("ogbn-y"))
            for name, said in (("ogbn-y", "could execute code"), ("ogbn-none", "No such file")):
                with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                    self.assertEqual(to_h5.main([f"ogb:{name}", self.out, "--root", self.folder.name]), 2)
                self.assertIn(said, err.getvalue())
            self.assertIs(torch.load, own)

    def test_graphs_of_ogb_and_pyg(self):
        atoms = [np.array([[5, 1], [6, 1]]), np.array([[6, 0], [6, 1], [5, 1]])]
        graphs = [{"edge_index": np.array([[0, 1], [1, 0]]), "num_nodes": 2, "node_feat": atoms[0], "edge_feat": np.array([[3], [3]])},
                  {"edge_index": np.array([[0, 2], [2, 0]]), "num_nodes": 3, "node_feat": atoms[1], "edge_feat": np.array([[1], [3]])}]

        def dataset(*y):
            class Dataset(list):
                def get_idx_split(self):
                    return {"train": np.array([0]), "valid": np.array([1]), "test": np.array([], int)}
            return Dataset(zip(graphs, map(np.array, y)))

        got = self.check(to_h5.from_ogb_graphs(dataset([1, np.nan, 0], [0, 1, np.nan])))
        np.testing.assert_array_equal(got["graph_y"], [[1, -1, 0], [0, 1, -1]])
        np.testing.assert_array_equal(got["graph_ptr"], [0, 2, 5])
        np.testing.assert_array_equal(got["edge_index"], [[0, 1, 2, 4], [1, 0, 4, 2]])
        np.testing.assert_array_equal(got["x"], [[1, 0, 0, 1], [0, 1, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
        np.testing.assert_array_equal(got["edge_attr"], [[0, 1], [0, 1], [1, 0], [0, 1]])
        np.testing.assert_array_equal(got["graph_val_mask"], [0, 1])
        for labels, want in (([[0], [1]], [0, 1]), ([[np.nan], [1]], [[-1], [1]]), ([[0.5], [np.nan]], [[0.5], [np.nan]])):
            np.testing.assert_array_equal(self.check(to_h5.from_ogb_graphs(dataset(*labels)))["graph_y"], want)
        pyg = [types.SimpleNamespace(edge_index=Tensor(graph["edge_index"]), num_nodes=graph["num_nodes"], x=None, y=Tensor([i]),
                                     edge_attr=Tensor([7, 9]))  # one number an edge, as ZINC has them
               for i, graph in enumerate(graphs)]
        got = self.check(to_h5.from_pyg_graphs(pyg), undirected=True)
        np.testing.assert_array_equal(got["graph_y"], [0, 1])
        self.assertNotIn("x", got)
        np.testing.assert_array_equal(got["edge_attr"], [[1, 0], [0, 1], [1, 0], [0, 1]])
        with self.assertRaisesRegex(to_h5.BadSource, "some graphs have no class"):
            self.check(to_h5.from_ogb_graphs(dataset([np.nan], [2])))

    def test_links_of_ogb(self):
        class Dataset:
            def __init__(self, edges, split):
                self.graph, self.split = {"edge_index": np.array(edges), "num_nodes": 5, "node_feat": X[:1].repeat(5, 0)}, split

            def __getitem__(self, i):
                return self.graph

            def get_edge_split(self):
                return self.split

        def part(source, target):
            return {"source_node": np.array([source]), "target_node": np.array([target]), "target_node_neg": np.array([[4, 2]])}

        got = self.check(to_h5.from_ogb_links(Dataset([[0, 1], [1, 3]], {"valid": part(0, 3), "test": part(1, 0)})))
        np.testing.assert_array_equal(got["edge_index"], [[0, 1, 0, 1], [1, 3, 3, 0]])
        np.testing.assert_array_equal(got["test_edges"], [[1], [0]])
        np.testing.assert_array_equal(got["val_negative_targets"], [[4, 2]])
        split = {key: {"edge": np.array([edge]), "edge_neg": np.array([[0, 4], [2, 3]])} for key, edge in (("valid", [0, 2]), ("test", [3, 1]))}
        got = self.check(to_h5.from_ogb_links(Dataset([[0, 1], [1, 0]], split)))
        np.testing.assert_array_equal(got["edge_index"], [[0, 1, 0, 2, 3, 1], [1, 0, 2, 0, 1, 3]])
        np.testing.assert_array_equal(got["val_negative_edges"], [[0, 2], [4, 3]])
        # An edge that validation and test share is valid, as in ogbl-collab, and seldom meant.
        said = "1 of 2 validation edges is a test edge, too: both parts are scored on it"
        for test, shared in (([3, 1], True), ([0, 1], False)):
            split = {key: {"edge": np.array(edges), "edge_neg": np.array([[2, 3]])} for key, edges in (("valid", [[0, 2], [1, 3]]), ("test", [test]))}
            self.check(to_h5.from_ogb_links(Dataset([[0, 1, 0, 4], [1, 0, 4, 0]], split)))
            for command, want in (("validate", f"{self.out}: warning: {said}\n{self.out}: valid\n"), ("inspect", f"warning         {said}\n")):
                done = subprocess.run([RODEO_DATA, command, self.out], capture_output=True, text=True)
                self.assertEqual((done.returncode, want in done.stdout, said in done.stdout), (0, shared, shared), done.stdout + done.stderr)
            self.assertIn(f"split of edges  {1 + shared} train, 2 val, 1 test\n", done.stdout)

    def test_features_of_integers_and_labels_of_text(self):
        graph = {"src": SRC, "dst": DST, "num_nodes": 4, "name": "four"}
        got = self.check(graph | {"x": X.astype(np.int64), "y": np.array(["dog", "cat", None, "dog"], object)})
        self.assertEqual(got["x"].dtype, np.float32)
        np.testing.assert_array_equal(got["x"], X)
        np.testing.assert_array_equal(got["y"], [1, 0, -1, 1])
        self.assertEqual(got["class_names"], "cat\ndog")
        got = self.check(graph | {"x": X > 3, "y": [3, 5, 5, -1], "node_names": ["a", "b", "c", "\u00e9"]})
        np.testing.assert_array_equal(got["x"], X > 3)
        self.assertEqual(bytes(got["node_names"]).decode(), "a\nb\nc\n\u00e9")
        with h5py.File(self.out, "w") as file:  # not by write(): the loader converts integers and bools itself
            file["edge_index"], file["x"], file["y"] = np.array([SRC, DST]), X > 3, [0, 1, 0, 1]
            for key, values in zip(to_h5.MASKS, MASKS):
                file[key] = values
        done = subprocess.run([RODEO_DATA, "inspect", self.out], capture_output=True, text=True)
        self.assertIn("features        2, 50.00 % nonzero", done.stdout, done.stderr)
        for x, text in ((np.array([["a"]] * 4), "must be numbers"), (X * np.nan, r"x\[0, 0\] is nan"),
                        (X.astype(np.float64) + 1e300, "finite")):
            with self.assertRaisesRegex(to_h5.BadSource, text):
                to_h5.write(self.out, **graph, x=x)

    def test_classes_of_labels(self):
        classify = to_h5.common.classify
        for values, y, names in (([1, 0, 2.0, None], [1, 0, 2, -1], None), ([2, 10, 2], [0, 1, 0], ["2", "10"]),
                                 (["b", "", "a"], [1, -1, 0], ["a", "b"]), ([1, 0, -1], [1, 0, -1], None),
                                 ([1, "a", np.nan], [0, 1, -1], ["1", "a"])):
            got = classify(values)
            self.assertEqual((got[0].tolist(), got[1]), (y, names))
        for values in ([None, np.nan], [-1, 1]):
            self.assertRaises(to_h5.BadSource, classify, values)

    @unittest.skipUnless(networkx, "NetworkX is not installed")
    def test_networkx(self):
        graph = networkx.Graph()
        for node, label, part in (("a", "cat", "train"), ("b", "dog", "val"), ("c", "cat", "test"), ("d", None, "")):
            graph.add_node(node, age=len(node) + 1, tall=node == "b", split=part, **({"label": label} if label else {}))
        graph.add_weighted_edges_from([("a", "b", 0.5), ("b", "c", 2)])
        graph.add_edge("d", "d")
        got = self.check(to_h5.from_networkx(graph, "pets"))
        edges = {(s, d): w for s, d, w in zip(*got["edge_index"], got["edge_weight"])}
        self.assertEqual(edges, {(0, 1): 0.5, (1, 0): 0.5, (1, 2): 2, (2, 1): 2, (3, 3): 1})
        np.testing.assert_array_equal(got["x"], [[2, 0], [2, 1], [2, 0], [2, 0]])
        np.testing.assert_array_equal(got["y"], [0, 1, 0, -1])
        self.assertEqual(bytes(got["node_names"]), b"a\nb\nc\nd")
        np.testing.assert_array_equal(got["test_mask"], [0, 0, 1, 0])
        networkx.write_graphml(graph, self.path("pets.graphml"))
        self.assertEqual(to_h5.main([self.path("pets.graphml"), self.out, "--feature-columns", "age"]), 0)
        with h5py.File(self.out) as file:
            self.assertEqual((file.attrs["class_names"], file["x"].shape), ("cat\ndog", (4, 1)))
            self.assertEqual(sorted(file["edge_weight"]), [0.5, 0.5, 1, 2, 2])
        del graph.nodes["c"]["age"]
        with self.assertRaisesRegex(to_h5.BadSource, "feature 'age' has no value for node 2"):
            to_h5.from_networkx(graph)
        np.testing.assert_array_equal(to_h5.from_networkx(graph, missing="mean")["x"][:, 0], [2, 2, 2, 2])
        directed = self.check(to_h5.from_networkx(networkx.DiGraph([(7, 5), (5, 9)]), "d"))
        np.testing.assert_array_equal(directed["edge_index"], [[0, 1], [1, 2]])
        np.testing.assert_array_equal(directed["node_id"], [7, 5, 9])
        self.assertNotIn("edge_weight", directed)

    def put(self, name, text):
        with open(self.path(name), "w", newline="") as file:
            file.write(text)
        return self.path(name)

    def test_tables(self):
        nodes = {"id": ["007", "b", "c"], "topic": ["NA", "x", None], "train": [1, 0, 0], "val": [0, 1, 0], "test": [0, 0, 0],
                 "x1": [1, 2, 3], "x2": [0.5, 1, -1], "note": ["p", "q", "r"]}
        edges = {"source": ["007", "b"], "target": ["b", "c"], "weight": [1, 3]}
        options = ["--columns", "label=topic", "--feature-columns", "x*", self.out]
        rows = "\r\n".join(f"{i}," + ",".join("" if values[i] is None else str(values[i]) for values in nodes.values())
                           for i in range(3))
        self.put("n.csv", "\ufeff," + ",".join(nodes) + "\r\n" + rows)  # with pandas' index, of Windows
        self.put("e.csv", "source;target;weight\n007;b;1\n\nb;c;3\n")
        kinds = [("csv", "csv")]
        if pyarrow:
            for path, table in (("n.parquet", nodes), ("e.parquet", edges)):
                importlib.import_module("pyarrow.parquet").write_table(pyarrow.table(table), self.path(path))
            kinds.append(("parquet", "parquet"))
        for n, e in kinds:
            self.assertEqual(to_h5.main(["--nodes", self.path(f"n.{n}"), "--edges", self.path(f"e.{e}"), *options]), 0)
            with h5py.File(self.out) as file:
                self.assertEqual((file.attrs["class_names"], bytes(file["node_names"])), ("NA\nx", b"007\nb\nc"))
                np.testing.assert_array_equal(file["x"], [[1, 0.5], [2, 1], [3, -1]])
                np.testing.assert_array_equal(file["y"], [0, 1, -1])
                np.testing.assert_array_equal(file["edge_index"], [[0, 1], [1, 2]])
                np.testing.assert_array_equal(file["edge_weight"], [1, 3])
        # The C++ importer makes the same of the same files.
        theirs = self.path("theirs.h5")
        subprocess.run([RODEO_DATA, "import", "csv", "--nodes", self.path("n.csv"), "--edges", self.path("e.csv"),
                        *options[:4], theirs], check=True, stdout=subprocess.DEVNULL)
        with h5py.File(self.out) as ours, h5py.File(theirs) as other:
            self.assertEqual(set(ours), set(other))
            for key in ours:
                np.testing.assert_array_equal(ours[key][()], other[key][()], key)
            self.assertEqual(ours.attrs["class_names"], other.attrs["class_names"])

    @unittest.skipUnless(pandas, "pandas is not installed")
    def test_frames(self):
        got = self.check(to_h5.from_frames(pandas.DataFrame({"id": ["9", "u", "11"], "x": [1, 2, 3], "label": ["a", None, "b"]}),
                                           pandas.DataFrame({"source": ["9", "u"], "target": ["u", "11"]})))
        np.testing.assert_array_equal(got["x"], [[1], [2], [3]])
        np.testing.assert_array_equal(got["y"], [0, -1, 1])
        self.assertEqual(bytes(got["node_names"]), b"9\nu\n11")

    def test_wrong_csv(self):
        edges = self.put("e.csv", "source,target\na,b\n")
        for text, said in (("", "expected a header"), ("id,x\n", "no nodes below the header"), ("id,x,x\n", "two columns are named 'x'"),
                           ("id,x\na,1\nb\n", "line 3: has 1 field, the header has 2"), ("id|x\na|1\n", "no column 'id'")):
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                self.assertEqual(to_h5.main(["--nodes", self.put("n.csv", text), "--edges", edges, self.out]), 2)
            self.assertIn(said, err.getvalue())
        got = self.check(to_h5.from_frames(None, {"source": ["9", "10"], "target": ["10", "11"]}))
        np.testing.assert_array_equal(got["node_id"], [9, 10, 11])

    def test_wrong_tables(self):
        def wrong(text, nodes=None, edges=None, **options):
            frames = [None if t is None else {name: np.array(list(values), object) for name, values in t.items()}
                      for t in (nodes, edges or {"source": [], "target": []})]
            with self.assertRaisesRegex(to_h5.BadSource, text):
                to_h5.from_frames(*frames, **options)

        wrong("edges: no column 'target'; there are source", edges={"source": [1]})
        wrong("row 2: target 'z' is no id of nodes", {"id": ["a"]}, {"source": ["a", "a"], "target": ["a", "z"]})
        wrong("row 3: the id 'a' is already that of row 1", {"id": ["a", "b", "a"]})
        wrong("nodes: no column 'id'", {"name": ["a"]})
        wrong("feature 't' must be numbers, got 'x'", {"id": [0, 1], "t": [1, "x"]})
        wrong("feature 't' has no value for node 1: fill it, give --missing", {"id": [0, 1], "t": ["x", None]})
        wrong("feature 't' has 30 texts for 30 nodes", {"id": range(30), "t": [f"n{i}" for i in range(30)]})
        wrong("--missing must be error, zero or mean, got 'm'", {"id": [0], "t": [1]}, missing="m")
        wrong("split of node 0 must be", {"id": [0], "split": ["tset"]})
        wrong("node 0 is in the split and has no label", {"id": [0, 1, 2], "split": ["train"] * 3,
                                                          "label": [None, "a", "a"]})
        wrong("no column fits 'y\\*'", {"id": [0], "x": [1]}, features="y*")
        wrong("could both be the label", {"id": [0], "label": [1], "class": [0]})
        wrong("30 different values for 30 labelled nodes, which are no classes: give --regression",
              {"id": range(30), "label": [100 + 7 * i for i in range(30)]})

    def test_texts_and_gaps_in_features(self):
        nodes = "id,age,kind,tall\na,1,dog,true\nb,,cat,false\nc,4,,nan\nd,nan,dog,true\n"
        for path, text in (("n.csv", nodes), ("e.csv", "source,target\na,b\n")):
            with open(self.path(path), "w") as file:
                file.write(text)
        options = ["--nodes", self.path("n.csv"), "--edges", self.path("e.csv"), "--missing", "mean"]
        with unittest.mock.patch("sys.stdout", io.StringIO()) as said:
            self.assertEqual(to_h5.main([*options, self.out]), 0)
        theirs = subprocess.run([RODEO_DATA, "import", "csv", *options, self.path("theirs.h5")], check=True,
                                capture_output=True, text=True).stdout
        line = ("features: 2 columns of numbers, 'kind' one-hot of 2 texts; 4 missing values are the mean of the column")
        self.assertIn(line, said.getvalue())
        self.assertIn(line, theirs)
        with h5py.File(self.out) as ours, h5py.File(self.path("theirs.h5")) as other:
            np.testing.assert_array_equal(ours["x"][()], other["x"][()])
            np.testing.assert_allclose(ours["x"][2], [4, 0, 0, 2 / 3], rtol=1e-6)

    def test_what_labels_are_understood_as(self):
        labels = to_h5.common.labels
        one_hot = np.eye(3)[[0, 2, 1, 2]]
        for y, options, want, said in (([0, 2, 1], {}, [0, 2, 1], "3 classes; to predict"), (one_hot, {}, [0, 2, 1, 2], "3 classes, of"),
                                       (one_hot, {"multi_label": True}, one_hot, "3 labels a node"),
                                       ([[0.0], [1.0], [2.0]], {}, [0, 1, 2], "3 classes; to predict"),
                                       ([[1, np.nan], [0, 1]], {}, [[1, -1], [0, 1]], "2 labels a node"),
                                       ([0.5, 1], {}, [[0.5], [1]], "numbers to predict")):
            got, note = labels(y, **options)
            np.testing.assert_array_equal(got, want)
            self.assertTrue(note.startswith(said), note)
        for y, text in ((1000 + 7 * np.arange(30), "30 different values for 30"), ([0, 70000, 1], "number the classes")):
            with self.assertRaisesRegex(to_h5.BadSource, text):
                labels(y)
        with self.assertRaisesRegex(to_h5.BadSource, "18 different numbers, some of them fractions"):
            to_h5.common.classify([i % 18 + 0.5 for i in range(60)])

    def test_inputs_are_not_overwritten(self):
        nodes, edges = self.put("n.csv", "id,label\n0,a\n1,b\n"), self.put("e.csv", "source,target\n0,1\n")
        features, link = self.put("f.json", '{"0": [1]}'), self.path("link.h5")
        os.symlink(edges, link)
        sparse.save_npz(self.path("g.npz"), sparse.coo_matrix(([1.0], ([0], [1])), (2, 2)))
        tables = ["--nodes", nodes, "--edges", edges, "--sparse-features", features]
        for words in (*([*tables, out] for out in (nodes, edges, features, link)), [self.path("g.npz")] * 2):
            before = [open(path, "rb").read() for path in (nodes, edges, features, self.path("g.npz"))]
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                self.assertEqual(to_h5.main(words), 2)
            self.assertIn(f"{words[-1]} is written, too: name another file", err.getvalue())
            self.assertEqual(before, [open(path, "rb").read() for path in (nodes, edges, features, self.path("g.npz"))])
            self.assertTrue(os.path.islink(link))
        with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
            self.assertEqual(to_h5.main([*tables, self.path("out.csv")]), 2)
        self.assertEqual(err.getvalue(), f"to_h5.py: {self.path('out.csv')}: unknown suffix: expected .h5 or .hdf5\n")

    def test_sparse_features(self):
        put = self.put
        nodes, edges = put("n.csv", "id,views,partner\n7,99,no\n5,3,yes\n9,4,no\n"), put("e.csv", "id_1,id_2\n7,5\n9,7\n")
        want = [[0, 1, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]]  # nodes 7, 5, 9
        for path in (put("f.json", '\ufeff{"7": [3, 1], "9": [0], "5": []}'), put("g.json", '{"9": {"0": 1}, "7": {"1": 1, "3": 1}}'),
                     put("f.csv", "node_id,feature_id\n9,0\n7,3\n7,1\n"), put("g.csv", "n;f;v\n9;0;1\n7;3;1\n7;1;1.0\n")):
            self.assertEqual(to_h5.main(["--nodes", nodes, "--edges", edges, "--sparse-features", path, "--columns",
                                         "label=partner", self.out]), 0)
            with h5py.File(self.out) as file:
                self.assertNotIn("x", file)
                x = sparse.csr_matrix((file["x_data"][()], file["x_indices"][()], file["x_indptr"][()]), (3, 4)).toarray()
                np.testing.assert_array_equal(x, want)
                np.testing.assert_array_equal(file["edge_index"], [[0, 2], [1, 0]])
                self.assertEqual((file.attrs["num_features"], file.attrs["class_names"]), (4, "no\nyes"))
        labelled = put("t.csv", "id,target\n7,1\n5,0\n9,1\n")  # karateclub's tables
        self.assertEqual(to_h5.main(["--nodes", labelled, "--edges", edges, "--sparse-features", path, self.out]), 0)
        with h5py.File(self.out) as file:
            self.assertEqual(file["y"][()].tolist(), [1, 0, 1])
        # Ids are columns, unless nearly none of many occurs: a first layer of 10^9 rows is nobody's wish.
        edge, above = 65535, 65536
        for ids, width, columns in (([0, edge], above, [0, edge]), ([0, above], 2, [0, 1]), ([999999999, 7], 2, [1, 0]), ([10**12, 9], 2, [1, 0]),
                                    ([0, *range(60000, 65537)], 65537, [0, *range(60000, 65537)])):
            path = put("w.json", f'{{"7": {ids}}}')
            with unittest.mock.patch("sys.stdout", io.StringIO()) as out:
                self.assertEqual(to_h5.main(["--nodes", nodes, "--edges", edges, "--sparse-features", path, self.out]), 0)
            with h5py.File(self.out) as file:
                self.assertEqual((int(file.attrs["num_features"]), file["x_indices"][()].tolist()), (width, sorted(columns)))
            said = f"features: {width} columns, their numbers in the file" if width > 2 else \
                f"features: 2 columns, for the ids that occur ({min(ids)} to {max(ids)}) in ascending order"
            self.assertIn(said, out.getvalue())
        for path, text in ((put("b.json", "[1]"), "expected an object"), (put("c.json", '{"8": [1]}'), f"'8' is no id of the nodes, which are in column 'id' of {nodes}: --columns id=NAME"),
                           (put("d.json", "{"), "damaged"), (put("i.json", '{"7": 3}'), "node '7' has 3"), (put("n.json", "{}"), "no node has"),
                           (put("h.csv", "n,f\n"), "no node has a feature"), (put("v.csv", "n,f,v\n7,0,x\n"), "column 'v' must be numbers, got 'x'"), (put("b.csv", "a\n1\n"), "expected the columns node, feature")):
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                self.assertEqual(to_h5.main(["--nodes", nodes, "--edges", edges, "--sparse-features", path, self.out]), 2)
            self.assertTrue(err.getvalue().startswith(f"to_h5.py: {path}: ") and text in err.getvalue(), err.getvalue())

    @unittest.skipUnless(networkx, "NetworkX is not installed")
    def test_gml(self):
        for names, key in ((("u", "v", "w"), "node_names"), (("u", "v", "v"), None)):  # two nodes have one label
            with open(self.path("books.gml"), "w") as file:
                file.write("graph [ directed 0 " + "".join(f'node [ id {i} label "{name}" value "{"nnc"[i]}" ] ' for i, name in
                                                           enumerate(names)) + "edge [ source 0 target 1 ] edge [ source 2 target 1 ] ]")
            self.assertEqual(to_h5.main([self.path("books.gml"), self.out, "--columns", "label=value"]), 0)
            with h5py.File(self.out) as file:
                np.testing.assert_array_equal(file["y"], [1, 1, 0])
                self.assertEqual(file.attrs["class_names"], "c\nn")
                self.assertEqual(file["edge_index"].shape, (2, 4))
                if key:
                    self.assertEqual(bytes(file[key]), b"u\nv\nw")

    def test_graphgallery_archive(self):
        adj = sparse.csr_matrix((np.ones(4), (SRC, DST)), (4, 4))
        for x in (X, sparse.csr_matrix(X), sparse.coo_matrix(X), sparse.csc_matrix(X)):
            np.savez(self.path("a.npz"), adj_matrix=np.array(adj, object), node_label=[0, 1, 1, 0],
                     node_attr=x if x is X else np.array(x, object))
            got = self.check(to_h5.from_npz(self.path("a.npz")))
            env = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]}
            subprocess.run([RODEO_DATA, "import", self.path("a.npz"), self.out, "--name", "alias"], check=True, capture_output=True, env=env)
            with h5py.File(self.out) as file:
                self.assertEqual(file.attrs["name"], "alias")
            if x is not X:
                self.assertEqual(got["num_features"], 2)
                got["x"] = sparse.csr_matrix((got["x_data"], got["x_indices"], got["x_indptr"]), (4, 2)).toarray()
            np.testing.assert_array_equal(got["x"], X)
            np.testing.assert_array_equal(got["y"], [0, 1, 1, 0])
        np.savez(self.path("evil.npz"), adj_matrix=np.array(print, object))
        with self.assertRaisesRegex(to_h5.BadSource, "a pickled builtins.print, and loading it could execute code"):
            to_h5.from_npz(self.path("evil.npz"))

    def test_damaged_archives_are_told_in_one_line(self):
        adj, rng = sparse.csr_matrix((np.ones(4), (SRC, DST)), (4, 4)), np.random.default_rng(0)
        np.savez_compressed(self.path("a.npz"), adj_data=adj.data, adj_indices=adj.indices, adj_indptr=adj.indptr,
                            adj_shape=adj.shape, attr_matrix=X, labels=[0, 1, 1, 0])
        with open(self.path("a.npz"), "rb") as file:
            whole = file.read()
        for i in range(200):
            damaged = bytearray(whole[:rng.integers(len(whole))] if i % 4 == 0 else whole)
            for at in rng.integers(0, max(len(damaged), 1), 3) if damaged else ():
                damaged[at] = rng.integers(256)
            with open(self.path("b.npz"), "wb") as file:
                file.write(damaged)
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err, unittest.mock.patch("sys.stdout", io.StringIO()):
                code = to_h5.main([self.path("b.npz"), self.out])
            self.assertTrue(code == 0 or (code == 2 and err.getvalue().count("\n") == 1
                                          and err.getvalue().startswith(f"to_h5.py: {self.path('b.npz')}: ")), err.getvalue())
        for values, text in (({"labels": [0, 1]}, "labels must have a row for each of 4 nodes"),
                             ({"attr_matrix": X[:2]}, "features must have a row for each of 4 nodes"),
                             ({"adj_indices": adj.indices[:2]}, "different numbers"), ({"adj_indices": [0.5] * 4}, "must be integers")):
            parts = {"adj_data": adj.data, "adj_indices": adj.indices, "adj_indptr": adj.indptr, "labels": [0, 1, 1, 0]} | values
            np.savez(self.path("c.npz"), **parts)
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                self.assertEqual(to_h5.main([self.path("c.npz"), self.out]), 2)
            self.assertIn(text, err.getvalue())
        with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
            self.assertEqual(to_h5.main([self.path("a.npz"), self.path("no/such/folder.h5")]), 2)
        self.assertIn(f"to_h5.py: {self.path('no/such/folder.h5')}: ", err.getvalue())

    def test_pt(self):
        class Fake(types.ModuleType):
            loaded = {"edge_index": Tensor([SRC, DST]), "x": Tensor(X), "y": Tensor([0, 1, 2, 1])}

            def load(self, path, map_location, weights_only):
                if weights_only and self.loaded is None:
                    raise RuntimeError("Weights only load failed\nmore")
                return self.loaded or types.SimpleNamespace(edge_index=Tensor([SRC, DST]), num_nodes=4)

        open(self.path("g.pt"), "w").close()
        with unittest.mock.patch.dict(sys.modules, {"torch": Fake("torch"), "torch_geometric": None}):
            np.testing.assert_array_equal(self.check(to_h5.from_pt(self.path("g.pt")))["x"], X)
            Fake.loaded = ({"edge_index": Tensor([SRC, DST]), "num_nodes": 4}, None, type)
            self.assertEqual(self.check(to_h5.from_pt(self.path("g.pt")))["num_nodes"], 4)
            Fake.loaded = None
            with self.assertRaisesRegex(to_h5.BadSource, "load failed: give --trust"):
                to_h5.from_pt(self.path("g.pt"))
            self.assertEqual(to_h5.main([self.path("g.pt"), self.out, "--trust"]), 0)

    def test_several_node_types(self):
        """HeteroData, a heterograph of DGL and OGB's dicts are one file; rodeo_data finds no fault in it."""
        y, masks = np.array([0, 1, 1]), {f"{part}_mask": np.arange(3) == i for i, part in enumerate(("train", "val", "test"))}
        edges, x = np.array([[0, 1, 2], [1, 0, 1]]), np.ones((2, 4), "float32")
        writes = ("author", "wrote in", "paper")

        class Hetero(dict):
            node_types, edge_types = ["author", "paper"], [writes]

        store = types.SimpleNamespace
        pyg = Hetero({"author": store(num_nodes=3, y=Tensor(y), **{key: Tensor(m) for key, m in masks.items()}),
                      "paper": store(num_nodes=2, x=Tensor(x)), writes: store(edge_index=Tensor(edges))})
        dgl = store(ntypes=["author", "paper"], canonical_etypes=[writes], num_nodes=lambda kind: {"author": 3, "paper": 2}[kind],
                    nodes={"author": store(data={"label": Tensor(y)} | masks), "paper": store(data={"feat": x})},
                    edges=lambda etype: (edges[0], edges[1]))
        ogb = {"edge_index_dict": {writes: edges}, "num_nodes_dict": {"author": 3, "paper": 2}, "node_feat_dict": {"paper": x}}
        split = {part: {"author": np.array([i])} for i, part in enumerate(("train", "valid", "test"))}
        graphs = [to_h5.from_pyg(pyg, "g"), to_h5.from_dgl(dgl, "g"), to_h5.from_dicts(ogb, {"author": y[:, None]}, split, "g")]
        contents = []
        for graph in graphs:
            path = self.path("hetero.h5")
            self.assertEqual(to_h5.write_hetero(path, **graph)[-1], "2 node types, 5 nodes, 1 relation, 3 edges")
            subprocess.run([RODEO_DATA, "validate", path], check=True, stdout=subprocess.DEVNULL)
            with h5py.File(path) as file:
                self.assertEqual(dict(file.attrs), {"rodeo_schema": 2, "name": "g", "node_types": "author\npaper",
                                                    "relations": "author:wrote_in:paper", "target_type": "author"})
                arrays = {}
                file.visititems(lambda name, item: arrays.update({name: item[()].tolist()} if hasattr(item, "shape") else {}))
                contents.append(arrays)
        self.assertEqual(contents[0], contents[1])
        self.assertEqual(contents[0], contents[2])
        self.assertEqual(contents[0]["edges/author:wrote_in:paper/edge_index"], edges.tolist())
        graphs[0]["edges"][writes] = (edges[0], edges[1] + 1)
        with self.assertRaisesRegex(to_h5.BadSource, r"targets of author:wrote in:paper must be integers in \[0, 2\)"):
            to_h5.write_hetero(self.path("bad.h5"), **graphs[0])

    def test_gnn_benchmark_archive(self):
        adj, attr = sparse.csr_matrix((np.ones(4), (SRC, DST)), (4, 4)), sparse.csr_matrix(X)
        parts = {f"{name}_{part}": getattr(matrix, part) for name, matrix in (("adj", adj), ("attr", attr))
                 for part in ("data", "indices", "indptr", "shape")}
        np.savez(self.path("a.npz"), labels=np.array([0, 1, 1, 0]), **parts)
        got = self.check(to_h5.from_npz(self.path("a.npz")))
        self.assertEqual(got["num_features"], 2)
        self.assertNotIn("edge_weight", got)
        x = sparse.csr_matrix((got["x_data"], got["x_indices"], got["x_indptr"]), (4, 2)).toarray()
        np.testing.assert_array_equal(x, X)

    def test_heterophilous_archive(self):
        parts = {f"{part}_masks": np.eye(4, dtype=bool)[[i, 3 - i]] for i, part in enumerate(("train", "val", "test"))}
        parts["val_masks"][1] = 0
        parts["test_masks"][1] = 0
        np.savez(self.path("h.npz"), node_features=X, node_labels=[0, 1, 1, 0], edges=[[0, 1], [2, 1], [3, 3]], **parts)
        got = self.check(to_h5.from_npz(self.path("h.npz")))
        self.assertEqual(sorted(zip(*got["edge_index"])), [(0, 1), (1, 0), (1, 2), (2, 1), (3, 3)])
        np.testing.assert_array_equal(got["train_mask"], [[1, 0], [0, 0], [0, 0], [0, 1]])

    def test_labels_from_one_are_classes_with_names(self):
        for y, want, names in (([2, 1, 3, -1], [1, 0, 2, -1], "1\n2\n3"), ([3, 1, 3, 1], [3, 1, 3, 1], None), ([1, 1, 1, -1], [1, 1, 1, -1], None),
                               ([0, 1, 2, 0], [0, 1, 2, 0], None)):
            np.savez(self.path("a.npz"), adj_data=[1.0], adj_indices=[1], adj_indptr=[0, 1, 1, 1, 1], adj_shape=(4, 4), labels=y)
            got = self.check(to_h5.from_npz(self.path("a.npz")))
            np.testing.assert_array_equal(got["y"], want)
            with h5py.File(self.out) as file:
                self.assertEqual(file.attrs.get("class_names"), names)

    def test_edges_in_one_direction_are_named(self):
        matrix = sparse.coo_matrix(([1, 1, 1, 1], ([0, 1, 1, 2], [1, 0, 2, 2])), (3, 3))
        sparse.save_npz(self.path("m.npz"), matrix.tocsr())
        for options, edges, said in ((["--drop-self-loops"], 3, "1 of 4 edges have no reverse edge"), (["--undirected"], 5, ""),
                                     (["--undirected", "--drop-self-loops"], 4, "")):
            with unittest.mock.patch("sys.stderr", io.StringIO()) as err:
                self.assertEqual(to_h5.main([self.path("m.npz"), self.out, *options]), 0)
            self.assertIn(said, err.getvalue())
            self.assertEqual(bool(said), bool(err.getvalue()))
            with h5py.File(self.out) as file:
                self.assertEqual(file["edge_index"].shape, (2, edges))

    def test_scipy_matrices(self):
        for layout in ("csr", "csc", "coo"):
            matrix = sparse.coo_matrix(([1.0, 2, 3, 4], (SRC, DST)), (4, 4)).asformat(layout)
            sparse.save_npz(self.path("m.npz"), matrix)
            self.assertEqual(to_h5.main([self.path("m.npz"), self.out]), 0)
            with h5py.File(self.out) as file:
                (src, dst), weight = file["edge_index"][()], file["edge_weight"][()]
            self.assertEqual(sorted(zip(src, dst, weight)), [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 4)])

    def test_reddit_archives(self):
        np.savez(self.path("d.npz"), feature=X, label=[0, 1, 2, 0], node_types=[1, 1, 2, 3])
        sparse.save_npz(self.path("g.npz"), sparse.coo_matrix(([0, 1, 2, 3], (SRC, DST)), (4, 4)))
        self.assertEqual(to_h5.main([self.path("d.npz") + "," + self.path("g.npz"), self.out]), 0)
        with h5py.File(self.out) as file:
            np.testing.assert_array_equal(file["train_mask"], [1, 1, 0, 0])
            np.testing.assert_array_equal(file["edge_index"], [SRC, DST])
            self.assertNotIn("edge_weight", file)

    def test_help_fits_80_columns(self):
        done = subprocess.run([sys.executable, os.path.join(ROOT, "datasets", "to_h5.py"), "--help"], capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": "80"})
        self.assertIn("minesweeper.npz", done.stdout)
        self.assertLessEqual(max(len(line) for line in done.stdout.splitlines()), 80)

    def test_what_is_wrong_is_told_in_one_line_and_leaves_no_file(self):
        np.savez(self.path("x.npz"), a=[1])
        np.savez(self.path("evil.npz"), adj_indptr=np.array([print], dtype=object))
        sparse.save_npz(self.path("wide.npz"), sparse.csr_matrix((3, 4)))
        script = os.path.join(ROOT, "datasets", "to_h5.py")
        for source, text in ((self.path("x.npz"), "none of the gnn-benchmark layout"),
                             (self.path("evil.npz"), "pickle"), (self.path("wide.npz"), "square matrix, got 3 x 4"),
                             ("nowhere.npz", "No such file"), ("xyz:A", "unknown source 'xyz:A'"),
                             *([] if optional("ogb") else [("ogb:ogbn-none", "needs the Python package ogb (pip install ogb)")]),
                             ("g.xyz", "FILE.graphml")):
            done = subprocess.run([sys.executable, script, source, self.out], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(text, done.stderr)
        with self.assertRaisesRegex(to_h5.BadSource, r"destinations of edges must be in \[0, 3\)"):
            to_h5.write(self.out, src=[0], dst=[3], num_nodes=3, name="x")
        with self.assertRaisesRegex(to_h5.BadSource, "0 or 1"):
            to_h5.write(self.out, src=[0], dst=[1], num_nodes=2, name="x", y=[[0, 2], [1, 1]])
        self.assertEqual([name for name in os.listdir(self.folder.name) if ".h5" in name], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
