"""datasets/to_h5.py on archives that NumPy and SciPy write, and on objects with the interfaces of PyG, DGL and OGB.

  to_h5_test.py SOURCE_DIR RODEO_DATA: exit code 77 where h5py, NumPy or SciPy are absent
"""

import os
import subprocess
import sys
import tempfile
import types
import unittest

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
        several = np.array([[0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0]])
        np.testing.assert_array_equal(self.check(to_h5.from_ogb(Dataset(several)))["y"], several)

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

    def test_what_is_wrong_is_told_in_one_line_and_leaves_no_file(self):
        np.savez(self.path("x.npz"), a=[1])
        np.savez(self.path("evil.npz"), adj_indptr=np.array([print], dtype=object))
        sparse.save_npz(self.path("wide.npz"), sparse.csr_matrix((3, 4)))
        script = os.path.join(ROOT, "datasets", "to_h5.py")
        for source, text in ((self.path("x.npz"), "neither of the gnn-benchmark layout"),
                             (self.path("evil.npz"), "pickle"), (self.path("wide.npz"), "square matrix, got 3 x 4"),
                             ("nowhere.npz", "No such file"), ("xyz:A", "unknown source 'xyz:A'"),
                             ("ogb:ogbn-none", "needs the Python package ogb")):
            done = subprocess.run([sys.executable, script, source, self.out], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(text, done.stderr)
        with self.assertRaisesRegex(to_h5.BadSource, r"destinations of edges must be in \[0, 3\)"):
            to_h5.write(self.out, src=[0], dst=[3], num_nodes=3, name="x")
        with self.assertRaisesRegex(to_h5.BadSource, "0 or 1"):
            to_h5.write(self.out, src=[0], dst=[1], num_nodes=2, name="x", y=[[0, 2], [1, 1]])
        self.assertEqual([name for name in os.listdir(self.folder.name) if ".h5" in name], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
