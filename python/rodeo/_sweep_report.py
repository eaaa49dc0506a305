"""What a sweep found: the order of its trials, tables and a picture."""
import csv
import json
import shlex
import statistics

from .training import _texts

_MOST_TRIALS, _MOST_FAILURES = 20, 10


class Trial:
    """Values of the options that differ, and the outcomes of their runs."""

    def __init__(self, values: dict, failure: str = ""):
        self.values = values    # {option: value}
        self.failure = failure  # what is wrong with the options, or the reason of a run without result; empty: none
        self.outcomes = []      # (run, outcome), as SweepStore has them

    def mean(self) -> float:
        return self.spread("val")[0]

    def spread(self, part: str) -> tuple:
        """Mean and deviation of a sample, of the results in `part`: val or test."""
        values = [outcome[part] for _, outcome in self.outcomes]
        return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0

    def cells(self) -> list:
        """Those of the table of the best trials."""
        form = "{:.4f} +- {:.4f}" if len(self.outcomes) > 1 else "{:.4f}"
        return [*(form.format(*self.spread(part)) for part in ("val", "test")), *(text for _, text in _texts(self.values))]


def ranked(trials: list) -> list:
    """Trials without failures, the best mean validation result first. Test results decide nothing."""
    return sorted((trial for trial in trials if not trial.failure), key=lambda trial: -trial.mean())


def describe(options: dict) -> str:
    """'lr 0.1, layers 2'"""
    return ", ".join(f"{name} {text}" for name, text in _texts(options))


def command_line(options: dict) -> str:
    """For a shell: ' --lr 0.1 --residual'."""
    words = []
    for name, text in _texts(options):
        flag = isinstance(options[name], bool)
        words.append(f"--{name}" if flag and text == "true" else f"--{name}=false" if flag else
                     f"--{name}={shlex.quote(text)}" if text.startswith("-") else f"--{name} {shlex.quote(text)}")
    return " ".join(words)


def print_report(trials: list, best: list, again: str, quiet: bool) -> None:
    """best: trials in their order, at least one. again: the command of the best one."""
    failed = [trial for trial in trials if trial.failure]
    if quiet:
        val, test = best[0].spread("val"), best[0].spread("test")
        print(f"test {test[0]:.4f} deviation {test[1]:.4f} val {val[0]:.4f} val_deviation {val[1]:.4f} runs {len(best[0].outcomes)} "
              f"trials {len(trials)} failed {len(failed)} " + " ".join(f"{name} {text}" for name, text in _texts(best[0].values)))
        return
    rows = [["val", "test", *best[0].values], *(trial.cells() for trial in best[:_MOST_TRIALS])]
    widths = [max(map(len, column)) for column in zip(*rows)]
    print()
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    if len(best) > _MOST_TRIALS:
        print(f"and {len(best) - _MOST_TRIALS} more")
    if failed:
        first = f"; the first {_MOST_FAILURES}" if len(failed) > _MOST_FAILURES else ""
        print(f"\n{len(failed)} of {len(trials)} trials failed{first}:")
        for trial in failed[:_MOST_FAILURES]:
            print(f"  {describe(trial.values)}: {trial.failure}")
    print(f"\nThe best trial again:\n  {again}")


def write_table(path: str, trials: list) -> None:
    """A row for each run, of a trial without runs one; CSV or JSON lines, by the name of the file."""
    rows = []
    for trial in trials:
        for run, outcome in trial.outcomes or [({}, {"failed": trial.failure})]:
            rows.append({**trial.values, **{name: value for name, value in run.items() if name != "options"}, **outcome})
    with open(path, "w", encoding="utf-8", newline="") as file:
        if path.endswith(".jsonl"):
            file.writelines(json.dumps(row) + "\n" for row in rows)
        else:
            table = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
            table.writeheader()
            table.writerows(rows)


def check_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError("--plot needs matplotlib: pip install matplotlib, or the extra rodeo[sweep]") from None


def write_plot(path: str, best: list) -> None:
    """SVG or PNG, by the name of the file: a chart for each option with a point for each trial, the best one in another colour."""
    from matplotlib.figure import Figure  # of its own, without a window
    names = list(best[0].values)
    figure = Figure(figsize=(5, 3.2 * len(names)), layout="constrained")
    for axes, name in zip(figure.subplots(len(names), squeeze=False)[:, 0], names):
        values = [trial.values[name] for trial in best]
        numbers = not any(isinstance(value, (str, bool)) for value in values)
        if numbers and min(values) > 0 and max(values) >= 20 * min(values):
            axes.set_xscale("log")
        x = values if numbers else [text for value in values for _, text in _texts({name: value})]
        means = [trial.mean() for trial in best]
        axes.scatter(x[1:], means[1:], label="trial")
        axes.scatter(x[:1], means[:1], label="best trial")
        axes.set(xlabel=name, ylabel="validation")
        axes.legend()
    figure.savefig(path)
