"""python -m rodeo sweep sweep.json: trains with many values of options and names the best. docs/sweep.md is the guide."""
import argparse
import concurrent.futures
import difflib
import functools
import json
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import Any

from . import _core
from . import _sweep_report as report
from ._sweep_file import read_options, read_sweep
from ._sweep_store import SweepStore
from .dataset import Dataset
from .training import _runs_of, _task, _texts, train

_SEVERAL = ("seeds", "splits", "parallel", "quiet")                # options of several runs
_FREE = (*_SEVERAL, "seed", "device", "threads", "log")            # may differ from those of the results before
_ARGUMENTS = ("dataset", "model", "gpus", "ranks", *_SEVERAL)      # no options of the trainer
_OF_ONE_RUN = ("checkpoint", "checkpoint-every", "checkpoint-every-batches", "resume", "export", "csv", "tensorboard", "report",
               "trace")


def main(words: list) -> int:
    """Returns the exit code. Errors are one line on stderr."""
    try:
        arguments, given = _parse(words)
        plan = _Plan(arguments, given)
        if arguments.dry_run:
            plan.describe()
            return 0
        return _run(plan, arguments)
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (ValueError, ImportError) as error:
        message = str(error)
    print(f"rodeo sweep: {message}", file=sys.stderr)
    return 2


def _parse(words):
    """The arguments of the sweep, and options of training as {name: value}."""
    parser = argparse.ArgumentParser(
        prog="python -m rodeo sweep", allow_abbrev=False, description="Trains with many values of options, and names the best.",
        epilog="Other options are those of training, the same for all trials: --epochs 50 --seeds 3 --parallel 2 --device cpu.")
    parser.add_argument("file", metavar="FILE.json", help="options, grid, random, trials, seed")
    parser.add_argument("--config", metavar="FILE", help="options of all trials; those of FILE.json override them")
    parser.add_argument("--dry-run", action="store_true", help="print the trials, and train none")
    parser.add_argument("--storage", metavar="FILE", help="results, which the same command goes on from (default: FILE.journal)")
    parser.add_argument("--reseed", metavar="N", type=int, default=0, help="train the best trials again until they have N seeds")
    parser.add_argument("--top", metavar="K", type=int, default=3, help="how many trials that is (3)")
    parser.add_argument("--table", metavar="FILE", help="write a row for each run: .csv or .jsonl")
    parser.add_argument("--plot", metavar="FILE", help="draw the trials by each option: .svg or .png; needs matplotlib")
    arguments, rest = parser.parse_known_args(words)
    given, rest = {}, rest[::-1]
    while rest:
        word = rest.pop()
        name, equals, text = word.partition("=")
        if not name.startswith("--"):
            raise ValueError(f"unexpected argument {word!r}: FILE.json comes first, then options --name value")
        if not equals and rest and not rest[-1].startswith("--"):
            equals, text = "=", rest.pop()
        given[name[2:]] = _value(text) if equals else True
    for path, kinds in (arguments.table, (".csv", ".jsonl")), (arguments.plot, (".svg", ".png")):
        if path and not path.endswith(kinds):
            raise ValueError(f"{path}: the name must end with {' or '.join(kinds)}")
        if path and not os.path.isdir(os.path.dirname(path) or "."):
            raise ValueError(f"{path}: cannot be written: no such folder")
    return arguments, given


def _value(text):
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, (int, float)) else text


class _Plan:
    """The trials, before any runs."""

    def __init__(self, arguments: argparse.Namespace, given: dict):
        self.file, self.config = arguments.file, arguments.config
        sweep = read_sweep(self.file)
        for name in given:
            if name in sweep.names:
                raise ValueError(f"--{name} is on the command line, and {self.file} tries values of it: leave one of them out")
        config = read_options(self.config) if self.config else {}
        self.options = {name: value for name, value in {**config, **sweep.options, **given}.items() if name not in sweep.names}
        self.options["task"] = _task(self.options.get("task", "node"))
        self.trials = [report.Trial(values, _why_refused({**self.options, **values})) for values in sweep.trials]
        if all(trial.failure for trial in self.trials):
            raise ValueError(f"{self.file}: no trial can be trained: {self.trials[0].failure}")
        self.values = {name: [trial.values[name] for trial in self.trials] for name in sweep.names}
        self.seeds, self.parallel = self._count("seeds"), self._count("parallel")
        for name in "log", "gpus", "ranks":
            if self.parallel > 1 and name in self.options:
                raise ValueError(f"'{name}' is not for runs beside each other: leave out 'parallel'")
        if not os.path.exists(str(self.options["dataset"])):
            raise ValueError(f"{self.options['dataset']}: no such file")
        self.storage = arguments.storage or os.path.splitext(self.file)[0] + ".journal"

    def _count(self, name):
        value = self.options.get(name, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"'{name}' must be a whole number of at least 1, got {value!r}")
        return value

    def jobs(self, trials: list, seeds: int) -> list:
        """(trial, run, options) of all runs of the trials that were not refused."""
        jobs = []
        for trial in trials:
            options = {name: value for name, value in {**self.options, **trial.values}.items()
                       if name not in _SEVERAL or name == "splits"}
            dataset = _load(options["dataset"]) if "splits" in options else None
            for one in _runs_of(dataset, options, seeds) if not trial.failure else ():
                jobs.append((trial, {"options": trial.values, **{k: one[k] for k in ("split", "seed", "fold") if k in one}}, one))
        return jobs

    def threads(self) -> dict:
        """Runs beside each other on the CPU share its threads."""
        device = str(self.options.get("device", "auto"))
        if self.parallel == 1 or device.startswith("cuda") or (device == "auto" and _core.build_info()["cuda_devices"]):
            return {}
        return {"threads": max(1, int(self.options.get("threads", _core.num_threads())) // self.parallel)}

    def command(self, trial: report.Trial) -> str:
        """Trains as the trial did, with the same bits."""
        config = read_options(self.config) if self.config else {}
        options = {name: value for name, value in self.options.items()
                   if name not in ("seeds", "parallel", "quiet", "log") and (name not in config or config[name] != value)}
        if options.get("task") == "node":
            del options["task"]
        options = {"model": "gcn", **({"config": self.config} if config else {}), **options, **trial.values, **self.threads()}
        if (seeds := len({run["seed"] for run, _ in trial.outcomes})) > 1:
            options["seeds"] = seeds
        return "python3 -m rodeo " + report.command_line(options)

    def describe(self) -> None:
        print(f"{len(self.trials)} trials, {len(self.jobs(self.trials, self.seeds))} runs, results in {self.storage}")
        for trial in self.trials:
            print(f"  {report.describe(trial.values)}" + (f": {trial.failure}" if trial.failure else ""))


def _why_refused(options):
    """What is wrong with the options of a trial; empty: nothing."""
    model, task = options.get("model", "gcn"), options["task"]
    try:
        known = {name for name, *_ in _core.options_table(model, task)}.union(_ARGUMENTS).difference(_OF_ONE_RUN)
        for name in options:
            if name in _OF_ONE_RUN:
                return f"'{name}' is for one run, and a sweep has several"
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                return f"'{name}' is no option of {model} for task {task}" + (f": did you mean '{near[0]}'?" if near else "")
        _core.check_options(model, _texts({name: value for name, value in options.items() if name not in _ARGUMENTS}))
    except ValueError as error:
        return str(error)
    return "" if "dataset" in options else "'dataset' is missing: the HDF5 file"


@functools.lru_cache(maxsize=1)
def _load(path):
    return Dataset.load(path)


def _train_one(options):
    """The outcome of one run, as SweepStore has it."""
    begin, options = time.monotonic(), dict(options)
    try:
        if options.get("task") == "node":  # of classes, or of numbers: the labels tell
            del options["task"]
        result = train(_load(options.pop("dataset")), options.pop("model", "gcn"), **options)
        outcome = {**result.best, "best_epoch": result.best_epoch, "epochs": result.epochs}
        if not math.isfinite(outcome["val"]):
            outcome = {"failed": "the validation result is not finite"}
    except (ValueError, MemoryError) as error:
        outcome = {"failed": str(error) or type(error).__name__}
    return {**outcome, "seconds": round(time.monotonic() - begin, 3)}


def _start_worker():
    """Ctrl-C is for the main process, and without that one a run is of no use."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=lambda: (multiprocessing.parent_process().join(), os._exit(1)), daemon=True).start()


def _train_all(jobs: list, parallel: int, add: Any) -> None:
    """Calls add(job, outcome) as each run ends. With parallel > 1 they train in processes of their own."""
    if parallel == 1:
        for job in jobs:
            add(job, _train_one(job[2]))
        return
    with concurrent.futures.ProcessPoolExecutor(parallel, multiprocessing.get_context("spawn"), _start_worker) as pool:
        try:
            futures = {pool.submit(_train_one, job[2]): job for job in jobs}
            for future in concurrent.futures.as_completed(futures):
                add(futures[future], future.result())
        except concurrent.futures.process.BrokenProcessPool:
            raise ValueError("a process was killed while it trained, perhaps for want of memory: the same command goes on, "
                             "try it with a smaller --parallel") from None
        except BaseException:
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _run(plan: _Plan, arguments: argparse.Namespace) -> int:
    if arguments.plot:
        report.check_matplotlib()
    quiet = bool(plan.options.get("quiet"))
    store = SweepStore(plan.storage, {name: value for name, value in plan.options.items() if name not in _FREE})
    try:
        _complete(plan, store, plan.jobs(plan.trials, plan.seeds), quiet)
        best = report.ranked(plan.trials)
        if arguments.reseed > plan.seeds:
            top, others = best[:arguments.top], best[arguments.top:]
            _complete(plan, store, plan.jobs(top, arguments.reseed), quiet)
            best = report.ranked(top) + others
    except KeyboardInterrupt:
        print(f"stopped with {len(store)} runs in {plan.storage}: the same command goes on")
        return 130
    finally:
        store.close()
    if arguments.table:
        report.write_table(arguments.table, plan.trials)
    if not best:
        raise ValueError(f"no trial has a result; the first one: {plan.trials[0].failure}")
    if arguments.plot:
        report.write_plot(arguments.plot, best)
    report.print_report(plan.trials, best, plan.command(best[0]), quiet)
    return 0


def _complete(plan, store, jobs, quiet):
    """Trains the runs that the storage does not have, and gives each trial its outcomes."""
    missing = [job for job in jobs if not store.is_done(job[1])]
    done = len(jobs) - len(missing)
    if not quiet:
        trials = len({id(trial) for trial, *_ in jobs})
        print(f"{len(jobs)} runs of {trials} trials; {done} of them are done, in {plan.storage}", flush=True)

    def add(job, outcome):
        nonlocal done
        run = job[1]
        store.add(run, outcome, plan.values)
        done += 1
        if not quiet:
            result = "failed: " + outcome["failed"] if "failed" in outcome else f"val {outcome['val']:.4f} test {outcome['test']:.4f}"
            which = report.describe({**run["options"], **{name: value for name, value in run.items() if name != "options"}})
            print(f"{done}/{len(jobs)}  {which}  {result}", flush=True)

    _train_all([(trial, run, {**options, **plan.threads()}) for trial, run, options in missing], plan.parallel, add)
    for trial, *_ in jobs:
        trial.outcomes = []
    for trial, run, _ in jobs:
        trial.outcomes.append((run, store.outcome(run)))
        trial.failure = trial.failure or store.outcome(run).get("failed", "")
