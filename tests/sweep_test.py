"""scripts/sweep.py with a stand-in for rodeo_train: sweep_test.py ROOT."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = os.path.abspath(sys.argv.pop(1))

# Counts its runs. The validation score is best at lr 0.01, the test score at lr 0.1.
TRAIN = f'''#!{sys.executable}
import json, sys
config = json.load(open(sys.argv[sys.argv.index("--config") + 1]))
open("runs", "a").write("x")
if config.get("hidden") == 13:
    sys.exit(3)
if "nonsense" in config:
    print("rodeo_train: unknown option '--nonsense'", file=sys.stderr)
    sys.exit(2)
val = 0.9 - abs(config["lr"] - 0.01) + 0.001 * config["seed"]
best = {{"train": 1.0, "val": None if config.get("hidden") == 7 else val, "test": config["lr"], "val_loss": 1.0}}
with open(sys.argv[sys.argv.index("--log") + 1], "w") as log:
    log.write(json.dumps({{"event": "end", "best": best, "best_epoch": 1, "epochs": 2}}) + "\\n")
'''


class Sweep(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        with open(self.path("train"), "w", encoding="utf-8") as file:
            file.write(TRAIN)
        os.chmod(self.path("train"), 0o755)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def sweep(self, content, *arguments):
        with open(self.path("s.json"), "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
        return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "scripts/sweep.py"), "s.json", "--train", "./train",
                               *arguments], cwd=self.folder.name, capture_output=True, text=True, check=False)

    def runs(self):
        return os.path.getsize(self.path("runs"))

    def test_validation_decides_and_failed_trials_are_last(self):
        done = self.sweep({"options": {"seed": 5}, "grid": {"hidden": [13, 16], "lr": [0.1, 0.01]}, "seeds": 2},
                          "--plot", "s.svg")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = done.stdout.splitlines()
        self.assertEqual(rows[0].split(), ["val", "%", "test", "%", "hidden", "lr"])
        self.assertEqual(rows[1].split(), ["90.55", "+-", "0.07", "1.00", "+-", "0.00", "16", "0.01"])
        self.assertEqual(rows[2].split()[-1], "0.1")
        self.assertTrue(all(row.startswith("the loss is not finite") for row in rows[3:]) and len(rows) == 5, rows)
        picture = xml.dom.minidom.parse(self.path("s.svg"))
        self.assertEqual(len(picture.getElementsByTagName("circle")), 4)  # 2 trials in 2 panels

    def test_goes_on_with_missing_runs_only(self):
        first = self.sweep({"grid": {"lr": [0.1, 0.01]}, "seeds": 2})
        self.assertEqual(self.runs(), 4)
        with open(self.path("s.results.jsonl"), encoding="utf-8") as file:
            lines = file.readlines()
        with open(self.path("s.results.jsonl"), "w", encoding="utf-8") as file:
            file.write("".join(lines[:2]) + lines[2][:20])  # interrupted while the third was written
        again = self.sweep({"grid": {"lr": [0.1, 0.01]}, "seeds": 2})
        self.assertEqual((again.stdout, self.runs()), (first.stdout, 6))
        self.sweep({"grid": {"lr": [0.1, 0.01, 0.02]}, "seeds": 2})
        self.assertEqual(self.runs(), 8)

    def test_random_draws_are_in_range_and_the_same_each_time(self):
        source = {"random": {"lr": {"log": [0.001, 0.1]}, "hidden": {"range": [16, 64]}, "layers": [2, 3]}, "trials": 20}
        first = self.sweep(source)
        os.remove(self.path("s.results.jsonl"))
        self.assertEqual(self.sweep(source).stdout, first.stdout)
        with open(self.path("s.results.jsonl"), encoding="utf-8") as file:
            options = [json.loads(line)["options"] for line in file]
        self.assertEqual(len(options), 20)
        self.assertTrue(all(0.001 <= o["lr"] <= 0.1 and o["hidden"] in range(16, 65) and o["layers"] in (2, 3) for o in options))

    def test_faults_are_told_in_words(self):
        lr = {"lr": [0.1]}
        for content, text in [("{", "not JSON"), ("[]", "expected an object"), ({"gird": lr}, "unknown name 'gird'"),
                              ({"grid": {"lr": 0.1}}, "grid 'lr' must be a list"), ({"grid": lr, "seeds": 0}, "'seeds' must be"),
                              ({"random": lr}, "need each other"), ({"options": {"lr": 1}, "grid": lr}, "value in two places"),
                              ({"random": {"lr": {"log": [0, 1]}}, "trials": 1}, "0 < a for log"),
                              ({"grid": {"seed": [1]}}, "'seed' is set by the sweep"),
                              ({"options": {"nonsense": 1}, "grid": lr}, "unknown option"),
                              ({"options": {"hidden": 7}, "grid": lr}, "no validation nodes")]:
            done = self.sweep(content)
            self.assertEqual(done.returncode, 2, content)
            self.assertIn(text, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
        with open(self.path("s.results.jsonl"), "w", encoding="utf-8") as file:
            file.write("[]\n")
        self.assertIn("s.results.jsonl:1: not a result", self.sweep({"grid": lr}).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
