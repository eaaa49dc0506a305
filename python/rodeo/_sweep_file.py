"""The file of `python -m rodeo sweep`: which values of options are tried. docs/sweep.md describes it."""
import dataclasses
import itertools
import json
import math
import random

MOST_TRIALS = 10_000
_KEYS = ("options", "grid", "random", "trials", "seed")
_EXPECTED = "options, grid, random, trials and seed"
_LARGEST_INT = 10**15  # whole numbers up to it, and their count, are exact in a float
# Trials are compared by a validation result, which must mean the same for all.
_SAME = ("dataset", "task", "split", "edge-split", "splits", "seed", "seeds", "fold", "folds", "metric", "hits", "threads", "device",
         "gpus", "ranks", "precision", "link-metric", "quiet", "log", "parallel")


@dataclasses.dataclass
class SweepFile:
    path: str
    options: dict  # options that all trials share
    names: list    # of the options that differ: those of "grid", then those of "random"
    trials: list   # a dict of these options for each, in the order of running; no two are equal


def read_options(path: str) -> dict:
    """Options of a settings file, as --config of the training commands reads it."""
    return _checked_options(_read_object(path, "an object of options and values"), path)


def read_sweep(path: str) -> SweepFile:
    """Draw i of an option is a function of seed, i and the option's name: more trials or options do not change it.

    Raises ValueError that begins with the path for everything but the documented format.
    """
    content = _read_object(path, f"an object with {_EXPECTED}")
    for key in content:
        _expect(key in _KEYS, path, f"unknown key {key!r}: expected {_EXPECTED}; options of training belong into 'options'")
    shared = content.get("options", {})
    _expect(isinstance(shared, dict), path, "'options' must be an object of options and values")
    _checked_options(shared, path)
    grid, draws = _sources(content, "grid", path), _sources(content, "random", path)
    _expect(grid or draws, path, "there is nothing to try: 'grid' or 'random' must have an option and its values")
    _expect(bool(draws) == ("trials" in content), path, "'random' and 'trials', the number of draws, need each other")
    names = [*grid, *draws]
    for name in names:
        _expect(name not in _SAME, path, f"'{name}' must be the same for all trials: it belongs into 'options'")
        _expect(names.count(name) == 1 and name not in shared, path, f"'{name}' has values in two places: leave one of them out")
    count = _whole(content, "trials", 1, path) if draws else 1
    seed = _whole(content, "seed", 0, path)
    total = count * math.prod(len(values) for values in grid.values())
    _expect(total <= MOST_TRIALS, path, f"has {total} trials, more than {MOST_TRIALS}")
    trials = {}  # without doubles
    for i in range(count):
        drawn = [_draw(source, random.Random(f"{seed} {i} {name}").random()) for name, source in draws.items()]
        for values in itertools.product(*grid.values()):
            trial = dict(zip(names, [*values, *drawn]))
            trials.setdefault(json.dumps(trial), trial)
    return SweepFile(path, shared, names, list(trials.values()))


def _expect(condition, path, text):
    if not condition:
        raise ValueError(f"{path}: {text}")


def _read_object(path, expected):
    with open(path, "rb") as file:
        text = file.read()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON: {error}") from None
    _expect(isinstance(content, dict), path, f"must be {expected}")
    return content


def _checked_options(options, path):
    for name, value in options.items():
        _check_value(name, value, path)
    return options


def _check_value(name, value, path):
    finite = not isinstance(value, float) or math.isfinite(value)
    _expect(isinstance(value, (str, int, float)) and finite, path, f"{name!r} must be text, a number, true or false")


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(content, key, least, path):
    value = content.get(key, least)
    _expect(_is_int(value) and value >= least, path, f"'{key}' must be a whole number of at least {least}")
    return value


def _sources(content, part, path):
    """{option: a list of values, or (distribution, low, high)}."""
    sources = content.get(part, {})
    _expect(isinstance(sources, dict), path, f"'{part}' must be an object of options and what to try for each")
    for name, source in sources.items():
        if part == "grid":
            _expect(isinstance(source, list), path, f"grid {name!r} must be a list of values")
        if isinstance(source, list):
            _expect(source, path, f"{part} {name!r} must have at least one value")
            for value in source:
                _check_value(name, value, path)
    return {name: source if isinstance(source, list) else _distribution(name, source, path) for name, source in sources.items()}


def _distribution(name, source, path):
    kind, ends = next(iter(source.items())) if isinstance(source, dict) and len(source) == 1 else ("", None)
    _expect(kind in ("uniform", "log-uniform", "int", "log-int"), path,
            f'random {name!r} must be a list of values, {{"uniform": [a, b]}}, {{"log-uniform": [a, b]}}, {{"int": [a, b]}} or '
            '{"log-int": [a, b]}')
    numbers = isinstance(ends, list) and len(ends) == 2 and all(isinstance(end, float) or _is_int(end) for end in ends)
    log = kind.startswith("log-")
    _expect(numbers and ends[0] <= ends[1] and (not log or ends[0] > 0), path,
            f"random {name!r}: {kind} must have two numbers [a, b] with {'0 < a <= b' if log else 'a <= b'}")
    low, high = ends
    if kind.endswith("int"):
        _expect(all(_is_int(end) and abs(end) <= _LARGEST_INT for end in ends), path,
                f"random {name!r}: {kind} must have whole numbers of at most 1e15")
    _expect(math.isfinite(high - low), path, f"random {name!r}: the numbers are too far apart")
    return kind, low, high


def _draw(source, unit):
    """The value at `unit` in [0, 1) of a list or a distribution. Numbers that are not whole have four digits."""
    if isinstance(source, list):
        return source[int(unit * len(source))]
    kind, low, high = source
    whole = kind.endswith("int")
    end = high + 1 if whole else high
    if kind.startswith("log-"):
        value = math.exp(math.log(low) + unit * (math.log(end) - math.log(low)))
    else:
        value = low + unit * (end - low)
    return min(max(math.floor(value) if whole else float(f"{value:.3e}"), low), high)
