"""rodeo.train over several processes: the command rodeo_train, which starts them, and its files."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from . import _core, _weights

_POLL_SECONDS = 0.05


def train_on_ranks(dataset, model, given, report):
    """Runs `python -m rodeo` on a copy of the dataset. Returns what _core.train does; calls report() after each epoch."""
    if _core.started_as_rank():
        raise ValueError("[train] gpus and ranks start processes themselves, and a launcher (mpirun, srun, torchrun) started "
                         "this one: leave them out of the script, or use the command: torchrun ... -m rodeo --dataset FILE")
    with tempfile.TemporaryDirectory(prefix="rodeo-") as folder:
        path = os.path.join(folder, "dataset.h5")
        dataset.save(path)
        given = {"log": os.path.join(folder, "run.jsonl"), "export": os.path.join(folder, "weights.safetensors"), **given}
        log = _Log(given["log"], report)
        _run([sys.executable, "-m", "rodeo", "--model", model, "--dataset", path, "--quiet", *_words(model, given)], log, folder)
        weights, description = _weights.read(given["export"])
    start, end = log.start, log.end
    logits = _weights.Model(weights, description, "cpu").logits(dataset)
    return {"model": start["model"]["text"], "epochs": end["epochs"], "best_epoch": end["best_epoch"],
            "best": _numbers(end["best"]), "last": _numbers(end["last"]), "epoch_ms": _number(end["epoch_ms"]["median"]),
            "peak_bytes": end["peak_bytes"], "weights": weights, "logits": logits,
            "details": _numbers(end.get("details", {})), "description": description}


def _words(model, given):
    flags = {name for name, _, _, is_flag in _core.options_table(model, given["task"]) if is_flag}
    words = []
    for name, value in given.items():
        name = name.replace("_", "-")
        if value is None or (name in flags and value in (False, "false")):
            continue
        words += [f"--{name}"] if name in flags else [f"--{name}", str(value).lower() if isinstance(value, bool) else str(value)]
    return words


def _run(command, log, folder):
    """Ends with an exception as the command does, or as report() did."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))}
    with open(os.path.join(folder, "errors"), "w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                   env=environment)
        try:
            while process.poll() is None:
                log.read()
                time.sleep(_POLL_SECONDS)
            log.read()
        except BaseException:  # of the callback, or Ctrl-C: the processes end their epoch
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise
        errors.seek(0)
        lines = [line for line in errors.read().splitlines() if line.startswith("rodeo_train: ")]
    if process.returncode in (130, -signal.SIGINT):
        raise KeyboardInterrupt
    if process.returncode == 4:
        raise MemoryError(_message(lines, process))
    if process.returncode or log.end is None:
        raise ValueError(_message(lines, process))


def _message(lines, process):
    text = lines[-1][len("rodeo_train: "):] if lines else f"the processes ended with exit code {process.returncode}"
    return f"[train] {text}"


class _Log:
    """Reads the lines that the command appends to its log."""

    def __init__(self, path, report):
        self.path, self.report = path, report
        self.position = os.path.getsize(path) if os.path.exists(path) else 0
        self.start = self.end = None

    def read(self):
        if not os.path.exists(self.path):
            return
        if os.path.getsize(self.path) < self.position:  # the command began the file anew
            self.position = 0
        with open(self.path, "rb") as file:
            file.seek(self.position)
            text = file.read()
        whole = text[:text.rfind(b"\n") + 1]
        self.position += len(whole)
        for line in whole.splitlines():
            self._take(json.loads(line))

    def _take(self, event):
        kind = event.pop("event")
        if kind == "start":
            self.start = event
        elif kind == "end":
            self.end = event
        elif kind == "epoch":
            epoch = _numbers({name: event[name] for name in ("epoch", "loss", "ms", "lr", "train", "val", "test", "val_loss")
                              if name in event})
            self.report({**epoch, "epochs": self.start["config"]["epochs"], "best_epoch": event.get("best_epoch", 0)})


def _number(value):
    return float("nan") if value is None else value


def _numbers(values):
    return {name: _number(value) for name, value in values.items()}
