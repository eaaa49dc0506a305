"""python -m rodeo: the command rodeo_train (docs/training.md), also over several ranks.

    python -m rodeo --model gcn --dataset cora.h5 --gpus 2
"""
import sys

from . import _core


def main() -> None:
    sys.exit(_core.command(["rodeo_train", *sys.argv[1:]], [sys.executable, "-m", "rodeo"]))


if __name__ == "__main__":
    main()
