#!/usr/bin/env python3
"""Trains with many values of options and prints them best first: scripts/sweep.py sweep.json [--train COMMAND].

sweep.json is an object with
    options   options that all trials share, as in rodeo_train --config
    grid      a list of values for each option: all combinations are tried
    random    instead or as well; for each option a list to draw from, {"range": [a, b]} or {"log": [a, b]}.
              Whole numbers a and b give whole numbers
    trials    how many random draws; each is combined with each point of the grid
    draw_seed seed of the draws (0). The same file gives the same trials
    seeds     runs of a trial, with options' seed and the numbers after it (1)

The trials are ordered by the mean of the validation score at each run's best epoch; the test score decides nothing.
Results are appended to sweep.results.jsonl (--results) run by run: after an interruption the same command goes on with the
runs that are missing. Delete that file when the dataset or the program has changed. A run that ends with a loss that is not
finite or without memory counts as failed and the sweep goes on; any other fault of rodeo_train stops it.
"""
import argparse
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile

import sweep_plot

NAMES = {"options", "grid", "random", "trials", "draw_seed", "seeds"}
FAILED = {3: "the loss is not finite", 4: "out of memory"}  # exit codes of rodeo_train that end a run, not the sweep


class Fault(Exception):
    pass


def expect(condition, text):
    if not condition:
        raise Fault(text)


def is_whole(value, least):
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def read_sweep(path):
    try:
        with open(path, encoding="utf-8") as file:
            sweep = json.load(file)
    except OSError as error:
        raise Fault(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise Fault(f"{path}: not JSON: {error}") from None
    expect(isinstance(sweep, dict), f"{path}: expected an object with " + ", ".join(sorted(NAMES)))
    unknown = sorted(set(sweep) - NAMES)
    expect(not unknown, f"{path}: unknown name '{unknown[0] if unknown else ''}'; expected " + ", ".join(sorted(NAMES)))
    for part in ["options", "grid", "random"]:
        expect(isinstance(sweep.setdefault(part, {}), dict), f"{path}: '{part}' must be an object")
    for option, values in sweep["grid"].items():
        expect(isinstance(values, list) and values, f"{path}: grid '{option}' must be a list with at least one value")
    for part, least in [("trials", 1), ("seeds", 1), ("draw_seed", 0)]:
        expect(is_whole(sweep.get(part, least), least), f"{path}: '{part}' must be a whole number from {least}")
    expect(is_whole(sweep["options"].get("seed", 0), 0), f"{path}: option 'seed' must be a whole number from 0")
    expect(("trials" in sweep) == bool(sweep["random"]), f"{path}: 'random' and 'trials' need each other")
    for part in ["grid", "random"]:
        twice = sorted(set(sweep[part]) & (set(sweep["options"]) | (set(sweep["grid"]) if part == "random" else set())))
        expect(not twice, f"{path}: '{twice[0] if twice else ''}' has a value in two places")
        for option in ["seed", "seeds", "splits", "log", "config", "quiet"]:
            expect(option not in sweep[part] and (option == "seed" or option not in sweep["options"]),
                   f"{path}: '{option}' is set by the sweep; 'seeds' says how many runs a trial has")
    return sweep


def draw(generator, option, source):
    if isinstance(source, list) and source:
        return generator.choice(source)
    if isinstance(source, dict) and len(source) == 1 and set(source) <= {"range", "log"}:
        kind, ends = next(iter(source.items()))
        numbers = isinstance(ends, list) and len(ends) == 2 and all(
            isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) for x in ends)
        if numbers and ends[0] <= ends[1] and (kind == "range" or ends[0] > 0):
            whole = all(isinstance(x, int) for x in ends)
            if kind == "range":
                return generator.randint(*ends) if whole else generator.uniform(*ends)
            value = math.exp(generator.uniform(math.log(ends[0]), math.log(ends[1])))
            return min(max(round(value), ends[0]), ends[1]) if whole else min(max(value, ends[0]), ends[1])
    raise Fault(f'random \'{option}\' must be a list of values, {{"range": [a, b]}} or {{"log": [a, b]}} with a <= b, '
                "and 0 < a for log")


def trials(sweep):
    """The options of each trial, without doubles, in the order of running."""
    generator = random.Random(sweep.get("draw_seed", 0))
    draws = [{option: draw(generator, option, source) for option, source in sweep["random"].items()}
             for _ in range(sweep.get("trials", 1))]
    points = [dict(zip(sweep["grid"], values)) for values in itertools.product(*sweep["grid"].values())]
    unique = {json.dumps({**drawn, **point}): {**point, **drawn} for drawn in draws for point in points}
    return list(unique.values())


def read_results(path):
    """Runs that are done, by their options. A line that was cut off by an interruption is dropped."""
    if not os.path.exists(path):
        return {}
    with open(path, "rb") as file:
        text = file.read()
    whole = text[:text.rfind(b"\n") + 1]
    if whole != text:
        with open(path, "r+b") as file:
            file.truncate(len(whole))
    results = {}
    for number, line in enumerate(whole.decode("utf-8", "replace").splitlines(), 1):
        try:
            result = json.loads(line)
            results[key(result["options"])] = result
        except (ValueError, KeyError, TypeError):
            raise Fault(f"{path}:{number}: not a result of a sweep; delete the file or name another with --results") from None
    return results


def key(options):
    return json.dumps(options, sort_keys=True)


def run(command, options):
    """Trains once. The result has 'best' (train, val, test, val_loss), or 'failed'."""
    with tempfile.TemporaryDirectory() as folder:
        config, log = os.path.join(folder, "config.json"), os.path.join(folder, "log.jsonl")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(options, file)
        try:
            done = subprocess.run([command, "--config", config, "--log", log, "--quiet"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
        except OSError as error:
            raise Fault(f"{command}: {error.strerror}; --train names the command rodeo_train") from None
        if done.returncode in FAILED:
            return {"options": options, "failed": FAILED[done.returncode]}
        expect(done.returncode == 0, f"{done.stderr.strip()}\nstopped by exit code {done.returncode} of {command} with "
               + json.dumps(options))
        with open(log, encoding="utf-8") as file:
            end = json.loads(file.read().splitlines()[-1])
        expect(isinstance(end["best"]["val"], (int, float)), "the dataset has no validation nodes, by which the sweep decides")
        return {"options": options, "best": end["best"], "best_epoch": end["best_epoch"], "epochs": end["epochs"]}


def mean(values):
    """Percent; the deviation is that of a sample (n - 1)."""
    if any(v is None for v in values):
        return "-"
    text = f"{100 * statistics.fmean(values):.2f}"
    return text + (f" +- {100 * statistics.stdev(values):.2f}" if len(values) > 1 else "")


def table(rows, seeds):
    """rows: (options of the trial, results of its runs), printed best validation first, failed ones last."""
    def order(row):
        scores = [r["best"]["val"] for r in row[1] if "best" in r]
        return -statistics.fmean(scores) if len(scores) == seeds else math.inf

    names = list(rows[0][0])
    lines = [["val %", "test %", *names]]
    for options, results in sorted(rows, key=order):
        failed = [r["failed"] for r in results if "failed" in r]
        scores = [failed[0], "-"] if failed else [mean([r["best"][part] for r in results]) for part in ["val", "test"]]
        lines.append(scores + [f"{v:.4g}" if isinstance(v, float) else str(v) for v in (options[n] for n in names)])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", help="a JSON file")
    parser.add_argument("--train", default="build/bin/rodeo_train", help="the command rodeo_train (%(default)s)")
    parser.add_argument("--results", help="results so far (default: beside the sweep: sweep.results.jsonl)")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw the validation score over each option")
    arguments = parser.parse_args()
    sweep = read_sweep(arguments.sweep)
    path = arguments.results or os.path.splitext(arguments.sweep)[0] + ".results.jsonl"
    done, seeds, first, rows = read_results(path), sweep.get("seeds", 1), sweep["options"].get("seed", 0), []
    todo = trials(sweep)
    with open(path, "a", encoding="utf-8") as file:
        for number, options in enumerate(todo, 1):
            results = []
            for seed in range(first, first + seeds):
                whole = {**sweep["options"], **options, "seed": seed}
                if key(whole) not in done:
                    done[key(whole)] = run(arguments.train, whole)
                    file.write(json.dumps(done[key(whole)]) + "\n")
                    file.flush()
                results.append(done[key(whole)])
            rows.append((options, results))
            print(f"trial {number} of {len(todo)} done", file=sys.stderr, flush=True)
    print(table(rows, seeds))
    if arguments.plot:
        try:
            with open(arguments.plot, "w", encoding="utf-8") as file:
                file.write(sweep_plot.svg(rows))
        except OSError as error:
            raise Fault(f"{arguments.plot}: {error.strerror}") from None


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        print(f"sweep.py: {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("sweep.py: interrupted; the same command goes on", file=sys.stderr)
        sys.exit(130)
