"""What all sources share: errors, arrays, labels, optional packages."""

import importlib

import numpy as np

MASKS = ("train_mask", "val_mask", "test_mask")


class BadSource(Exception):
    """The source is missing or invalid; one line."""


def module(name, pip=None):
    """Imports an optional package."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pip = pip or name.split(".")[0]
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
    place = {name: i for i, name in enumerate(names)}
    y = np.array([-1 if value is None else place.get(number_of[value], -1) for value in values], np.int64)
    return y, None if names == list(range(len(names))) else [str(name) for name in names]


def labels(y, regression=False):
    """Numeric class labels (NaN: unlabelled), or a multi-label matrix of 0 and 1. With `regression`, and where numbers
    are not whole, targets: float32 [nodes, targets], NaN where one is missing."""
    y = np.asarray(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    known = y[~np.isnan(y)] if y.dtype.kind == "f" else y
    if regression or not np.array_equal(known, np.floor(known)):
        if not np.isfinite(known).all():
            raise BadSource("labels are infinite: targets must be finite, or NaN where they are missing")
        return y.astype(np.float32).reshape(len(y), -1)
    if y.dtype.kind == "f" and y.ndim == 1:
        y = np.where(np.isnan(y), -1, y)
    if y.ndim == 2:
        if not np.isin(y, (0, 1)).all():
            raise BadSource("labels of several columns must be 0 or 1")
        return y.astype(np.uint8)
    return y.astype(np.int64)


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
