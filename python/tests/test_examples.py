"""The examples run."""
import json
import os
import re
import subprocess
import sys
from unittest import mock

import pytest

import rodeo

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")


@pytest.mark.parametrize("name, arguments", [("train_without_torch.py", []), ("custom_layer.py", []),
                                             ("pyg_script.py", ["--epochs", "5"]),
                                             ("gat_reddit.py", ["--nodes", "2000", "--edges", "40000", "--features", "20", "--epochs", "5"])])
def test_example(name, arguments):
    if name != "train_without_torch.py":
        pytest.importorskip("torch", minversion="2.4")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    done = subprocess.run([sys.executable, os.path.join(FOLDER, name), *arguments], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_cells_of_the_notebook():
    for module in "torch", "torch_geometric", "matplotlib":
        pytest.importorskip(module)
    with open(os.path.join(FOLDER, "from_pyg.ipynb"), encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] or "print(" not in "".join(cell["source"]) for cell in cells), "a cell was not executed"
    program = "import matplotlib; matplotlib.use('Agg')\n" + "\n".join("".join(cell["source"]) for cell in cells)
    program = program.replace("[10_000, 50_000, 200_000]", "[1_000, 2_000]")  # the same program in seconds
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0 and "test accuracy" in done.stdout, done.stderr


def test_trackers_of_the_guide(monkeypatch):
    """The block of docs/python.md, with stand-ins: neither package is needed, and neither service is called."""
    with open(os.path.join(FOLDER, "..", "..", "docs", "python.md"), encoding="utf-8") as file:
        program, = [block for block in re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL) if "wandb" in block]
    wandb, mlflow = mock.MagicMock(), mock.MagicMock()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    exec(compile(program, "docs/python.md", "exec"), {})  # pylint: disable=exec-used
    run = wandb.init.return_value.__enter__.return_value
    for log in run.log, mlflow.log_metrics:
        assert [call.kwargs["step"] for call in log.call_args_list] == list(range(1, 21))
        metrics = log.call_args.args[0]
        assert {"epoch", "loss", "val"} <= set(metrics) and all(isinstance(value, (int, float)) for value in metrics.values())
    assert 0 <= mlflow.log_metric.call_args.args[1] <= 1 and mlflow.log_params.call_args.args[0]["hidden"] == 32
