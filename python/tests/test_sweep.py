"""python -m rodeo sweep: the trials, what goes on after a kill, and the report."""
import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
import types

import pytest

import rodeo
from rodeo import sweep
from rodeo._sweep_file import read_sweep

needs_optuna = pytest.mark.skipif(not importlib.util.find_spec("optuna"), reason="Optuna is not installed")
RANDOM = {"lr": {"log-uniform": [0.001, 0.1]}, "dropout": {"uniform": [0.2, 0.8]}, "hidden": {"int": [16, 19]},
          "heads": {"log-int": [1, 64]}, "act": ["relu", "elu"]}


@pytest.fixture
def write(tmp_path):
    """Writes s.json with these parts. Returns its path."""
    def write(**parts):
        path = tmp_path / "s.json"
        path.write_text(json.dumps(parts))
        return str(path)
    return write


@pytest.fixture
def trials_of(write):
    return lambda **parts: [tuple(trial.values()) for trial in read_sweep(write(**parts)).trials]


def test_a_grid_is_all_combinations_in_their_order(write, trials_of):
    read = read_sweep(write(options={"model": "gcn", "epochs": 5}, grid={"lr": [0.1, 1e-3], "norm": ["none", "batch"]}))
    assert read.names == ["lr", "norm"] and read.options == {"model": "gcn", "epochs": 5}
    assert [tuple(trial.values()) for trial in read.trials] == [(0.1, "none"), (0.1, "batch"), (0.001, "none"), (0.001, "batch")]
    assert trials_of(grid={"layers": [2, 2, 3]}) == [(2,), (3,)]
    assert trials_of(grid={"residual": [True, 1]}) == [(True,), (1,)]


def test_draws_depend_on_seed_number_and_name_alone(trials_of):
    trials = trials_of(random=RANDOM, trials=20, seed=3)
    assert trials_of(random=RANDOM, trials=20, seed=3) == trials != trials_of(random=RANDOM, trials=20, seed=4)
    assert trials_of(random=RANDOM, trials=30, seed=3)[:20] == trials
    alone = trials_of(random={"hidden": RANDOM["hidden"], "lr": RANDOM["lr"]}, trials=20, seed=3)
    assert alone == [(trial[2], trial[0]) for trial in trials]
    # On every machine and by every Python: results of another one are found again.
    assert trials_of(random=RANDOM, trials=1) == [(0.06967, 0.38, 17, 2, "relu")]


def test_draws_have_their_distribution(trials_of):
    trials = trials_of(random=RANDOM, trials=4000)
    assert all(0.001 <= lr <= 0.1 and 0.2 <= dropout <= 0.8 and float(f"{lr:.3e}") == lr for lr, dropout, *_ in trials)
    # The count of n = 4000 draws of probability p has a deviation of sqrt(n p (1 - p)) < 32.
    for expected, holds in [(2000, lambda t: t[0] < 0.01), (2000, lambda t: t[1] < 0.5), (1000, lambda t: t[2] == 19),
                            (4000 * 0.4981, lambda t: t[3] < 8), (2000, lambda t: t[4] == "elu")]:
        assert sum(map(holds, trials)) == pytest.approx(expected, abs=160)
    assert {trial[2] for trial in trials} == {16, 17, 18, 19} and {1, 64} <= {trial[3] for trial in trials}
    ends = {"lr": {"int": [7, 7]}, "dropout": {"uniform": [0.123456789, 0.123456789]}}
    assert trials_of(random=ends, trials=9) == [(7, 0.123456789)]


def test_each_draw_meets_the_whole_grid(trials_of):
    trials = trials_of(grid={"layers": [2, 3]}, random={"lr": {"uniform": [0, 1]}}, trials=2)
    assert [layers for layers, _ in trials] == [2, 3, 2, 3]
    assert trials[0][1] == trials[1][1] != trials[2][1] == trials[3][1]


@pytest.mark.parametrize("text, message", [
    ("{", "is not JSON: "), ("[]", "must be an object with options, grid, random, trials and seed"),
    ('{"gird": {}}', "unknown key 'gird': expected options, grid"), ("{}", "nothing to try: 'grid' or 'random'"),
    ('{"options": [], "grid": {"lr": [1]}}', "'options' must be an object"),
    ('{"options": {"lr": [1]}, "grid": {"hidden": [1]}}', "'lr' must be text, a number, true or false"),
    ('{"grid": {"lr": [null]}}', "'lr' must be text, a number"), ('{"grid": {"lr": [NaN]}}', "'lr' must be text, a number"),
    ('{"grid": {"lr": 0.1}}', "grid 'lr' must be a list"), ('{"grid": {"lr": []}}', "grid 'lr' must have at least one value"),
    ('{"random": {"lr": [1]}}', "'random' and 'trials'"), ('{"grid": {"lr": [1]}, "trials": 2}', "'random' and 'trials'"),
    *((f'{{"random": {{"lr": [1]}}, "trials": {n}}}', "'trials' must be a whole number of at least 1") for n in ("0", "1.5", '"2"', "true")),
    ('{"grid": {"lr": [1]}, "seed": -1}', "'seed' must be a whole number of at least 0"),
    *((f'{{"random": {{"lr": {source}}}, "trials": 1}}', "random 'lr' must be a list of values, ")
      for source in ("1", "{}", '{"normal": [0, 1]}', '{"int": [1, 2], "uniform": [1, 2]}')),
    *((f'{{"random": {{"lr": {{"uniform": {ends}}}}}, "trials": 1}}', "random 'lr': uniform must have two numbers [a, b] with a <= b")
      for ends in ("1", "[1]", "[2, 1]", '["1", "2"]', "[true, 2]")),
    ('{"random": {"lr": {"log-int": [0, 4]}}, "trials": 1}', "random 'lr': log-int must have two numbers [a, b] with 0 < a <= b"),
    ('{"random": {"lr": {"int": [1, 2.5]}}, "trials": 1}', "random 'lr': int must have whole numbers"),
    ('{"random": {"lr": {"uniform": [-1e308, 1e308]}}, "trials": 1}', "too far apart"),
    *((f'{{"grid": {{"{name}": [1]}}}}', f"'{name}' must be the same for all trials") for name in ("seed", "dataset", "metric", "log")),
    ('{"options": {"lr": 1}, "grid": {"lr": [1]}}', "'lr' has values in two places"),
    ('{"grid": {"lr": [1]}, "random": {"lr": [1]}, "trials": 1}', "'lr' has values in two places"),
    ('{"random": {"lr": [1]}, "grid": {"hidden": [1, 2]}, "trials": 6000}', "has 12000 trials, more than 10000"),
])
def test_a_wrong_file_is_refused_by_its_key(tmp_path, text, message):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ValueError) as error:
        read_sweep(str(tmp_path / "s.json"))
    assert str(error.value).startswith(f"{tmp_path}/s.json: ") and message in str(error.value)


class Sweep:
    """Runs sweeps of which training is a stand-in: validation is best at lr 0.01, test at the largest lr."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys, self.runs, self.last = folder, capsys, 0, {}
        (folder / "d.h5").write_text("the stand-in does not read it")

    def train(self, dataset, model, *, seed=0, lr=0.1, **given):
        self.runs, self.last = self.runs + 1, {"model": model, "seed": seed, "lr": lr, **given}
        if lr == 7:
            raise ValueError("[train] the train loss is nan in epoch 3")
        if lr == 8:
            raise MemoryError("out of memory")
        if lr == 9:
            raise KeyboardInterrupt
        val = float("nan") if lr == 6 else 0.9 - abs(lr - 0.01) + seed / 100
        best = {"train": 1.0, "val": val, "test": lr + seed / 100, "val_loss": 0.5}
        return types.SimpleNamespace(best=best, best_epoch=4, epochs=5)

    def run(self, *words, code=0, options=None, **parts):
        """What it prints."""
        self.runs = 0
        (self.folder / "s.json").write_text(json.dumps({"options": {"dataset": str(self.folder / "d.h5"), **(options or {})}, **parts}))
        assert sweep.main([str(self.folder / "s.json"), "--device", "cpu", *words]) == code
        printed = self.capsys.readouterr()
        assert (code == 2) == bool(printed.err)
        return printed.err or printed.out

    def lr(self, *values, words=(), code=0):
        return self.run(*words, code=code, grid={"lr": list(values)})


@pytest.fixture
def stand_in(tmp_path, capsys, monkeypatch):
    stand_in = Sweep(tmp_path, capsys)
    monkeypatch.setattr(sweep, "train", stand_in.train)
    monkeypatch.setattr(sweep, "_load", lambda path: None)
    return stand_in


def table(text):
    lines = text[text.index("\nval "):].split("\n\n")[0].split("\n")
    return lines[2:]


def test_a_dry_run_prints_the_trials_and_what_is_wrong(stand_in):
    text = stand_in.run("--dry-run", "--seeds", "3", grid={"model": ["gcn", "gat"], "heads": [4], "hidden": [8, 0]})
    lines = text.splitlines()
    assert lines[0] == f"4 trials, 3 runs, results in {stand_in.folder}/s.journal" and stand_in.runs == 0
    assert lines[1].startswith("  model gcn, heads 4, hidden 8: 'heads' is no option of gcn for task node")
    assert lines[3] == "  model gat, heads 4, hidden 8" and "--hidden must be" in lines[4]
    assert not os.path.exists(stand_in.folder / "s.journal")


def test_wrong_options_are_named(stand_in):
    for words, text in [(("--hiden", "3"), "no trial can be trained: 'hiden' is no option of gcn for task node: did you mean 'hidden'?"),
                        (("--lr", "0.2"), "--lr is on the command line, and "), (("--export", "w"), "'export' is for one run"),
                        (("--seeds", "0"), "'seeds' must be a whole number of at least 1"), (("3",), "unexpected argument '3'"),
                        (("--parallel", "2", "--log", "l"), "'log' is not for runs beside each other"),
                        (("--table", "t.txt"), ".csv or .jsonl"), (("--plot", "no/p.svg"), "no/p.svg: cannot be written: no such folder"),
                        (("--dataset", "no.h5"), "no.h5: no such file"), (("--config", "no.json"), "no.json: No such file")]:
        assert text in stand_in.lr(0.1, words=words, code=2)
    assert "--lr must be a number above 0, got '-1'" in stand_in.lr(-1, code=2)
    assert sweep.main([str(stand_in.folder / "none.json")]) == 2


@needs_optuna
def test_validation_decides_and_the_best_is_named(stand_in):
    text = stand_in.run("--seeds", "2", "--residual", grid={"hidden": [8, 16], "lr": [0.1, 0.01]})
    assert stand_in.runs == 8 and stand_in.last["residual"] is True
    assert table(text) == ["0.9050 +- 0.0071  0.0150 +- 0.0071  8       0.01", "0.9050 +- 0.0071  0.0150 +- 0.0071  16      0.01",
                           "0.8150 +- 0.0071  0.1050 +- 0.0071  8       0.1", "0.8150 +- 0.0071  0.1050 +- 0.0071  16      0.1"]
    assert "\n8/8  hidden 16, lr 0.01, seed 1  val 0.9100 test 0.0200\n" in text
    assert text.endswith(f"\nThe best trial again:\n  python3 -m rodeo --model gcn --dataset {stand_in.folder}/d.h5 --device cpu "
                         "--residual --hidden 8 --lr 0.01 --seeds 2\n")
    assert stand_in.lr(0.1, 0.01, 7, words=["--quiet", "--seeds", "2", "--storage", str(stand_in.folder / "q")]) == (
        "test 0.0150 deviation 0.0071 val 0.9050 val_deviation 0.0071 runs 2 trials 3 failed 1 lr 0.01\n")


@needs_optuna
def test_the_best_trials_are_trained_with_more_seeds(stand_in):
    text = stand_in.lr(0.1, 0.01, 0.02, 0.5, words=["--reseed", "4", "--top", "2"])
    assert stand_in.runs == 4 + 2 * 3
    assert [line.split()[-1] for line in table(text)] == ["0.01", "0.02", "0.1", "0.5"]
    assert table(text)[1].startswith("0.9050 +- 0.0129  ") and table(text)[2].startswith("0.8100  ") and "--seeds 4" in text
    stand_in.lr(0.1, 0.01, 0.02, 0.5, words=["--reseed", "4", "--top", "2"])
    assert stand_in.runs == 0


@needs_optuna
def test_failed_trials_are_kept_and_others_go_on(stand_in):
    grid = {"lr": [7, 0.01, 8, 6], "hidden": [0, 16]}
    path = stand_in.folder / "t.csv"
    text = stand_in.run("--table", str(path), grid=grid)
    assert stand_in.runs == 4 and len(table(text)) == 1 and "\n7 of 8 trials failed:\n" in text
    assert "\n  lr 7, hidden 16: [train] the train loss is nan in epoch 3\n" in text
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 8 and rows[3]["val"] == "0.9" and rows[3]["best_epoch"] == "4" and rows[7]["failed"].endswith("is not finite")
    stand_in.run(grid=grid)
    assert stand_in.runs == 1, "lr 8, which was out of memory"
    assert "no trial has a result; the first one: [train] the train loss is nan" in stand_in.lr(7, 6, code=2)


@needs_optuna
def test_goes_on_with_the_missing_runs(stand_in):
    seeds = ["--seeds", "2"]
    first = table(stand_in.lr(0.1, 0.01, words=seeds))
    storage = stand_in.folder / "s.journal"
    lines = storage.read_bytes().splitlines(keepends=True)
    storage.write_bytes(b"".join(lines[:-2]) + lines[-2][:40])  # killed while it wrote
    text = stand_in.lr(0.1, 0.01, words=seeds)
    assert stand_in.runs == 2 and table(text) == first and text.startswith("4 runs of 2 trials; 2 of them are done")
    stand_in.lr(0.1, 0.01, words=["--seeds", "3"])
    assert stand_in.runs == 2, "a seed more"
    stand_in.run("--seeds", "3", grid={"lr": [0.1, 0.01, 0.02]})
    assert stand_in.runs == 3, "a trial more"
    stand_in.run("--seed", "1", "--threads", "1", "--quiet", grid={"lr": [0.02]})
    assert stand_in.runs == 0
    assert "stopped with 10 runs in " in stand_in.lr(0.5, 9, 0.01, code=130)
    stand_in.lr(0.5, 9, 0.01, code=130)
    assert stand_in.runs == 1


@needs_optuna
def test_the_storage_is_checked(stand_in):
    stand_in.lr(0.1, words=["--epochs", "5"])
    message = stand_in.lr(0.1, words=["--epochs", "6"], code=2)
    assert "s.journal: is of trials with epochs 5, and these have epochs 6: delete the file, or name another with --storage" in message
    assert "with epochs 5, and these have no epochs" in stand_in.lr(0.1, code=2)
    storage = stand_in.folder / "s.journal"
    for content in b"my notes", b"my notes\n", b"[]\n", b'{"op_code"}\n', b'{"op_code": 99}\n':
        storage.write_bytes(content)
        assert "s.journal: is no storage of a sweep" in stand_in.lr(0.1, code=2)
        assert storage.read_bytes().startswith(content)
    from rodeo._sweep_store import SweepStore
    other = SweepStore(str(stand_in.folder / "o.journal"), {})
    assert "another sweep is writing it" in stand_in.lr(0.1, words=["--storage", str(stand_in.folder / "o.journal")], code=2)
    other.close()
    stand_in.run("--storage", str(stand_in.folder / "p.journal"), grid={"norm": ["none"]})
    stand_in.run("--storage", str(stand_in.folder / "p.journal"), grid={"norm": ["none", "batch"]})
    assert stand_in.runs == 1, "other values of a text are no other storage"


@needs_optuna
def test_settings_files_are_overridden(stand_in):
    config = stand_in.folder / "c.json"
    config.write_text('{"lr": 0.3, "hidden": 5, "epochs": 9}')
    text = stand_in.run("--config", str(config), "--hidden", "6", options={"model": "gat"}, grid={"lr": [0.01], "act": ["-a b", "relu"]})
    assert stand_in.last["hidden"] == 6 and stand_in.last["epochs"] == 9 and stand_in.last["model"] == "gat"
    assert f"python3 -m rodeo --model gat --config {config} --hidden 6 --dataset {stand_in.folder}/d.h5 --device cpu --lr 0.01" in text


@needs_optuna
def test_the_plot_has_a_chart_for_each_option(stand_in):
    pytest.importorskip("matplotlib")
    for name in "p.svg", "p.png":
        stand_in.run("--plot", str(stand_in.folder / name), grid={"lr": [0.1, 0.001, 7], "act": ["relu", "elu"], "residual": [True, False]})
    picture = (stand_in.folder / "p.svg").read_text()
    assert all(f"<!-- {text} -->" in picture for text in ("lr", "act", "relu", "true", "best trial"))
    assert (stand_in.folder / "p.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_missing_is_named(stand_in, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "--plot needs matplotlib: pip install matplotlib" in stand_in.lr(0.1, words=["--plot", "p.svg"], code=2)
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "a sweep needs Optuna 4 or later: pip install 'optuna>=4'" in stand_in.lr(0.1, code=2)


@pytest.fixture
def real(tmp_path):
    """Starts the command on Cora, in a process of its own."""
    rodeo.Dataset.generate("cora").save(tmp_path / "cora.h5")
    (tmp_path / "s.json").write_text(json.dumps({"options": {"dataset": "cora.h5", "epochs": 30, "device": "cpu", "threads": 2, "seeds": 2},
                                                 "grid": {"hidden": [4, 8], "lr": [0.1, 0.01]}}))
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}

    def start(*words):
        return subprocess.Popen([sys.executable, "-m", "rodeo", "sweep", "s.json", *words], cwd=tmp_path, text=True, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    return start


def runs_in(path):
    return path.read_bytes().count(b'"outcome"') if path.exists() else 0


@needs_optuna
@pytest.mark.parametrize("parallel", [1, 2])
def test_goes_on_after_signals_with_the_same_results(real, tmp_path, parallel):
    words = ["--parallel", str(parallel), "--threads", str(parallel)]  # a thread for each run
    whole, _ = real(*words, "--storage", "whole.journal", "--table", "whole.jsonl").communicate(timeout=300)
    assert runs_in(tmp_path / "whole.journal") == 8, whole
    for sign, everybody in (signal.SIGINT, False), (signal.SIGINT, True), (signal.SIGKILL, False):
        before = runs_in(tmp_path / "s.journal")
        process = real(*words)
        end = time.monotonic() + 60
        while runs_in(tmp_path / "s.journal") < before + 2 and time.monotonic() < end:
            time.sleep(0.01)
        (os.killpg if everybody else os.kill)(process.pid, sign)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == (130 if sign == signal.SIGINT else -sign), out
        assert "Traceback" not in out and ("the same command goes on" in out) == (sign == signal.SIGINT)
        assert runs_in(tmp_path / "s.journal") < 8, "the sweep was over before the signal"
    out, _ = real(*words, "--table", "again.jsonl").communicate(timeout=300)
    assert runs_in(tmp_path / "s.journal") == 8 and out[out.index("\nval "):] == whole[whole.index("\nval "):], out
    again, first = ([json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text().splitlines()] for name in ("again", "whole"))
    assert [{**row, "seconds": 0} for row in again] == [{**row, "seconds": 0} for row in first]


@needs_optuna
def test_the_document_is_true(tmp_path, capsys, monkeypatch):
    document = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs", "sweep.md")
    text = open(document, encoding="utf-8").read()
    (tmp_path / "sweep.json").write_text(text.split("```json\n")[1].split("```")[0])
    rodeo.Dataset.generate("cora").save(tmp_path / "cora.h5")
    monkeypatch.chdir(tmp_path)
    assert sweep.main(["sweep.json", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("4 trials, 4 runs, results in sweep.journal\n")
