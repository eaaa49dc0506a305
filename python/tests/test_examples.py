"""The examples run."""
import os
import subprocess
import sys

import pytest

import rodeo

FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "python")


@pytest.mark.parametrize("name, arguments", [("train_without_torch.py", []), ("custom_layer.py", []),
                                             ("pyg_script.py", ["--epochs", "5"])])
def test_example(name, arguments):
    if name != "train_without_torch.py":
        pytest.importorskip("torch", minversion="2.4")
    environment = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__))}
    done = subprocess.run([sys.executable, os.path.join(FOLDER, name), *arguments], capture_output=True, text=True,
                          env=environment, timeout=300)
    assert done.returncode == 0 and done.stdout, done.stderr
