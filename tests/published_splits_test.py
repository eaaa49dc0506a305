"""scripts/published_splits.py on archives of both layouts: published_splits_test.py ROOT. Exit code 77 without h5py."""
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
except ImportError as absent:
    print(f"Skipped: {absent}")
    sys.exit(77)

SCRIPT = os.path.join(os.path.abspath(sys.argv.pop(1)), "scripts", "published_splits.py")
PARTS = ("train", "val", "test")


class PublishedSplits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)
        with h5py.File(self.path("g.h5"), "w") as file:
            file["edge_index"] = np.array([[0, 1], [1, 0]])
            file["x"] = np.array([[0, 2], [1, 0], [3, 0.5], [0, 0]], "float32")
            file["y"] = np.array([0, 1, 0, 1])
            file["train_mask"] = np.ones(4, "uint8")
            file.attrs["name"] = "four"

    def run_on(self, *options, **arrays):
        np.savez(self.path("s.npz"), **arrays)
        return subprocess.run([sys.executable, "-B", SCRIPT, self.path("g.h5"), self.path("s.npz"), self.path("o.h5"), *options],
                              capture_output=True, text=True, check=False)

    def test_node_ids(self):
        done = self.run_on("--binary-features", train=np.array([3, 0]), valid=np.array([1]), test=np.array([2]))
        self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(self.path("o.h5")) as file:
            self.assertEqual([file[f"{part}_mask"][()].tolist() for part in PARTS],
                             [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0]])
            np.testing.assert_array_equal(file["x"], [[0, 1], [1, 0], [1, 1], [0, 0]])
            self.assertEqual(file.attrs["name"], "four")

    def test_masks(self):
        masks = {f"{part}_masks": np.eye(4, dtype=bool)[[i, i + 1]] for i, part in enumerate(PARTS)}
        for options, train in (((), [[1, 0], [0, 1], [0, 0], [0, 0]]), (("--splits", "1"), [1, 0, 0, 0])):
            done = self.run_on(*options, **masks)
            self.assertEqual(done.returncode, 0, done.stderr)
            with h5py.File(self.path("o.h5")) as file:
                self.assertEqual(file["train_mask"][()].tolist(), train)

    def test_faults_are_one_line(self):
        ids = np.array([0])
        for options, arrays, text in (((), {"train": ids}, "expected train, valid and test"),
                                      ((), {"train": ids, "val": ids, "test": ids}, "a node is in two parts"),
                                      ((), {"train": np.array([4]), "val": ids, "test": ids}, "train has ids outside [0, 4)"),
                                      ((), {f"{part}_masks": np.zeros((2, 3)) for part in PARTS}, "must be [splits, 4], got [2, 3]"),
                                      (("--splits", "2"), {"train": ids, "val": ids + 1, "test": ids + 2}, "--splits 2: there are 1")):
            done = self.run_on(*options, **arrays)
            self.assertEqual(done.returncode, 1, text)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
