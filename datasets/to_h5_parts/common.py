"""What all sources share: errors, arrays, labels, optional packages."""

import contextlib
import importlib

import numpy as np

MASKS = ("train_mask", "val_mask", "test_mask")


class BadSource(Exception):
    """The source is missing or invalid; one line. `path`: the file that is meant, where it is not the source."""

    path = None


@contextlib.contextmanager
def reading(path):
    """Errors within name the file. Libraries raise errors of many types for damaged files."""
    try:
        yield
    except BadSource as error:
        error.path = error.path or path
        raise
    except Exception as error:
        known = {KeyError: f"it has no '{str(error.args[0]).split(' ', 1)[0] if error.args else ''}'", OSError: getattr(error, "strerror", None)}
        text = next((text for kind, text in known.items() if isinstance(error, kind) and text), None)
        bad = BadSource(text or f"it is damaged, or of another format: {type(error).__name__}: {error}")
        bad.path = path
        raise bad from error


def module(name, pip=None):
    """Imports an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".")[0]
        missing = (error.name or package).split(".")[0]  # may be one that the package itself needs
        pip = pip if pip and missing == package else missing
        raise BadSource(f"this source needs the Python package {pip} (pip install {pip}): {error}") from error


def array(values):
    """Converts a tensor on any device to a NumPy array."""
    if values is None:
        return None
    for step in ("detach", "cpu"):
        if hasattr(values, step):
            values = getattr(values, step)()
    if str(getattr(values, "dtype", "")) == "torch.bfloat16":
        values = values.float()
    return np.asarray(values.numpy() if hasattr(values, "numpy") else values)


def mask(nodes, count):
    out = np.zeros(count, np.uint8)
    out[np.asarray(nodes).ravel()] = 1
    return out


def edges_of(indptr, indices):
    """Row and column indices of a CSR matrix."""
    indptr = np.asarray(indptr)
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.asarray(indices)


def is_missing(value):
    """None, an empty text and NaN (also pandas.NA, which is not equal to itself)."""
    return value is None or (isinstance(value, str) and value == "") or value is not value or \
        (isinstance(value, (float, np.floating)) and np.isnan(value)) or type(value).__name__ == "NAType"


def is_integer(value):
    return isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value == int(value))


def nearly_all_differ(distinct, count):
    """Whether so many of `count` values differ that they are no categories: names, prices, dates."""
    return distinct > 16 and 2 * distinct > count


def check_classes(distinct, count, fractions=False):
    if nearly_all_differ(distinct, distinct if fractions else count):
        what = "numbers, some of them fractions," if fractions else "values"
        raise BadSource(f"the labels have {distinct} different {what} for {count} labelled nodes, which are no classes: give "
                        "--regression if they are numbers to predict, or name the label by --columns label=NAME")


def classify(values):
    """Classes of labels of any kind: (y, names). Integers 0 .. C - 1 are classes as they are, without names.
    Others become classes in ascending order, with their texts as names. A missing label, and a negative one among
    integers, is unlabelled: -1."""
    values = [None if is_missing(value) else value for value in np.asarray(values, dtype=object).ravel()]
    known = set(value for value in values if value is not None)
    if not known:
        raise BadSource("all labels are missing: fill them, or leave them out")
    if all(is_integer(value) for value in known):
        number_of = {value: int(value) for value in known}
        names = sorted(set(number for number in number_of.values() if number >= 0))
        if len(names) < 2 and len(names) < len(set(number_of.values())):
            raise BadSource("labels are negative, which means unlabelled, or of one class: use names of classes")
    else:
        number_of = {value: str(value).replace("\n", " ") for value in known}
        names = sorted(set(number_of.values()))
    numeric = all(isinstance(value, (int, float, np.integer, np.floating)) for value in known)
    check_classes(len(names), sum(value is not None for value in values),
                  numeric and not all(is_integer(value) for value in known))
    place = {name: i for i, name in enumerate(names)}
    y = np.array([-1 if value is None else place.get(number_of[value], -1) for value in values], np.int64)
    return y, None if names == list(range(len(names))) else [str(name) for name in names]


def labels(y, regression=False, multi_label=False):
    """(y, what was understood) of numeric class labels (NaN: unlabelled), or of a matrix of 0 and 1 (NaN or -1: not known):
    classes where each node has exactly one 1, else several labels, as with `multi_label`. With `regression`, and where
    numbers are not whole, targets: float32 [nodes, targets], NaN where one is missing."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    known = y[~np.isnan(y)] if y.dtype.kind == "f" else y
    if regression or not np.array_equal(known, np.floor(known)):
        if not np.isfinite(known).all():
            raise BadSource("labels are infinite: targets must be finite, or NaN where they are missing")
        y = y.astype(np.float32).reshape(len(y), -1)
        return y, f"numbers to predict, {y.shape[1]} a node"
    if y.dtype.kind == "f":
        y = np.where(np.isnan(y), -1, y)
    if y.ndim == 2:
        if not np.isin(y, (-1, 0, 1)).all():
            raise BadSource("labels of several columns must be 0 or 1, or -1 where one is not known")
        if not multi_label and (y >= 0).all() and (y.sum(1) == 1).all():
            return y.argmax(1), (f"{y.shape[1]} classes, of a matrix in which each row has exactly one 1; to keep them apart "
                                 "give --multi-label")
        return y.astype(np.int8 if (y < 0).any() else np.uint8), f"{y.shape[1]} labels a node, each 0 or 1 (multi-label)"
    y = y.astype(np.int64)
    classes = np.unique(y[y >= 0])
    check_classes(len(classes), int((y >= 0).sum()))
    if y.max(initial=0) >= max(2**16, len(y)):
        raise BadSource(f"the largest label is {y.max()}: number the classes 0, 1, 2 and so on, or give --regression if they "
                        "are numbers to predict")
    return y, f"{len(classes)} classes; to predict the numbers give --regression"


def from_one(y):
    """Labels 1 .. C as classes 0 .. C - 1, and names that keep the numbers; other labels as they are."""
    known = np.unique(y[y >= 0])
    if len(known) < 2 or not np.array_equal(known, np.arange(1, len(known) + 1)):
        return y, None
    return np.where(y < 0, y, y - 1), [str(label) for label in known]


def name_nodes(ids):
    """node_id, for integers other than 0, 1, ...; node_names for other ids."""
    ids = list(ids)
    if all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in ids):
        return {} if ids == list(range(len(ids))) else {"node_id": np.array(ids, np.int64)}
    texts = [str(i) for i in ids]
    if texts == [str(i) for i in range(len(ids))]:
        return {}
    if all(text.lstrip("-").isdigit() and str(int(text)) == text and abs(int(text)) < 2**63 for text in texts):
        return {"node_id": np.array([int(text) for text in texts], np.int64)}
    return {"node_names": texts}
