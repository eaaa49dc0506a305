"""python -m rodeo: the command rodeo_train (docs/training.md), also over several ranks; sweeps (docs/sweep.md); other commands.

    python -m rodeo --model gcn --dataset cora.h5 --gpus 2
    python -m rodeo sweep sweep.json
    python -m rodeo predict --dataset cora.h5 --weights model.safetensors --out classes.csv
    python -m rodeo data inspect cora.h5
"""
import os
import sys

from . import _core


def main() -> None:
    if sys.argv[1:2] == ["sweep"]:
        from . import sweep
        sys.exit(sweep.main(sys.argv[2:]))
    if sys.argv[1:2] in (["predict"], ["data"]):
        _become("rodeo_" + sys.argv[1], sys.argv[2:])
    sys.exit(_core.command(["rodeo_train", *sys.argv[1:]], [sys.executable, "-m", "rodeo"]))


def rodeo_predict() -> None:
    _become("rodeo_predict", sys.argv[1:])


def rodeo_data() -> None:
    _become("rodeo_data", sys.argv[1:])


def train_gcn() -> None:
    _become("train_gcn", sys.argv[1:])


def train_gat() -> None:
    _become("train_gat", sys.argv[1:])


def _become(name, words):
    """Runs a program that is installed beside this file, in the place of this process."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    if not os.access(path, os.X_OK):  # in a build, files of the package are links to the sources
        path = os.path.join(os.path.dirname(os.path.abspath(_core.__file__)), name)
    if not os.access(path, os.X_OK):
        sys.exit(f"{name}: the program is not in the package, at {path}: build it with `make`, or install the wheel again")
    # `rodeo_data import` runs python3: of this environment, also where it is not activated
    os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", os.defpath)
    os.execv(path, [path, *words])


if __name__ == "__main__":
    main()
