"""CSV files as columns of texts, and what the texts are."""

import csv
import gzip
import itertools

import numpy as np

from .common import BadSource


def is_number(value):
    try:
        return np.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def typed(values):
    """The texts of a CSV column as integers or floats (nothing: NaN) where all are; others, and arrays, as they are."""
    if not isinstance(values, list) or any("_" in text for text in values):  # int() reads 1_000
        return values
    for kind in (int, float):
        try:
            return np.array([kind(text or "nan") for text in values], np.int64 if kind is int else np.float64)
        except (ValueError, OverflowError):
            pass
    return values


def read_csv(path, separators=",;\t"):
    """The columns of a CSV file, also gzip, as lists of texts by name. The header has most of the separator."""
    csv.field_size_limit(1 << 26)
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        reader = csv.reader(itertools.chain([header], file), delimiter=max(separators, key=header.count), skipinitialspace=True)
        names = [name.strip() for name in next(reader, [])]
        twice = next((name for i, name in enumerate(names) if name and name in names[:i]), None)
        if not any(names) or twice:
            raise BadSource(f"two columns are named '{twice}'" if twice else "expected a header with the names of the columns")
        rows = []
        for row in reader:
            if row and len(row) != len(names):
                raise BadSource(f"line {reader.line_num}: has {len(row)} field{'s' * (len(row) != 1)}, the header has {len(names)}")
            rows += [[text.strip() for text in row]] if row else []
    return {name: [row[i] for row in rows] for i, name in enumerate(names) if name}
