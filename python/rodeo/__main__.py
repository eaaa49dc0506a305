"""python -m rodeo: the command rodeo_train (docs/training.md), also over several ranks; and sweeps (docs/sweep.md).

    python -m rodeo --model gcn --dataset cora.h5 --gpus 2
    python -m rodeo sweep sweep.json
"""
import sys

from . import _core


def main() -> None:
    if sys.argv[1:2] == ["sweep"]:
        from . import sweep
        sys.exit(sweep.main(sys.argv[2:]))
    sys.exit(_core.command(["rodeo_train", *sys.argv[1:]], [sys.executable, "-m", "rodeo"]))


if __name__ == "__main__":
    main()
