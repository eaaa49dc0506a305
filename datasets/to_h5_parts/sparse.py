"""Sparse features in a file of their own: pairs of node and feature, as MUSAE and SNAP's graphs of GitHub and Twitch."""

import json

import numpy as np

from .common import BadSource, reading
from .csv_file import is_number, read_csv, typed


def triplets(path):
    """(node, feature, value) of JSON {node: [feature, ...]} or {node: {feature: value}}, or of a table with the columns node,
    feature and optionally value, in this order."""
    if path.endswith(".json"):
        with open(path, encoding="utf-8-sig") as file:
            rows = json.load(file)
        expected = "expected an object {node: [feature, ...]}"
        if not isinstance(rows, dict):
            raise BadSource(expected)
        for node, row in rows.items():
            if not isinstance(row, (list, dict)):
                raise BadSource(f"{expected}, node '{node}' has {row}")
        return [(node, str(feature), row[feature] if isinstance(row, dict) else 1) for node, row in rows.items()
                for feature in row]
    columns = list(read_csv(path, ",;\t ").items())
    if len(columns) not in (2, 3):
        raise BadSource(f"expected the columns node, feature and optionally value, got {', '.join(name for name, _ in columns)}")
    for name, texts in columns:
        if "" in texts:
            raise BadSource(f"column '{name}' has no value in row {texts.index('') + 1}")
    values = [typed(texts) for _, texts in columns[2:]]
    if values and isinstance(values[0], list):
        raise BadSource(f"column '{columns[2][0]}' must be numbers, got '{next(v for v in values[0] if not is_number(v))}'")
    return list(zip(columns[0][1], columns[1][1], values[0] if values else np.ones(len(columns[0][1]))))


def columns_of(features):
    """{feature: column} and what was understood. Ids that are integers are columns, unless that made more than 65,536 columns
    and 15 of 16 of them empty: then, as other names, those that occur are numbered in ascending order."""
    numbers = all(name.isascii() and name.isdigit() for name in features)
    names = sorted(features, key=int if numbers else None)
    if numbers and int(names[-1]) < max(2**16, 16 * len(names)):
        return {name: int(name) for name in names}, f"features: {int(names[-1]) + 1} columns, their numbers in the file"
    kind = "ids" if numbers else "names"
    return {name: i for i, name in enumerate(names)}, \
        f"features: {len(names)} columns, for the {kind} that occur ({names[0]} to {names[-1]}) in ascending order"


def sparse_features(path, ids, whose):
    """x_csr and num_features of a file, for nodes with these ids, which are texts. `whose`: where they are from."""
    with reading(path):
        rows = triplets(path)
        if not rows:
            raise BadSource("no node has a feature")
        place = {text: i for i, text in enumerate(ids)}
        unknown = next((node for node, _, _ in rows if node not in place), None)
        if unknown is not None:
            raise BadSource(f"'{unknown}' is no id of the nodes, which are {whose}")
        column, understood = columns_of({feature for _, feature, _ in rows})
        row, index = (np.array(part, np.int64) for part in ([place[node] for node, _, _ in rows],
                                                            [column[feature] for _, feature, _ in rows]))
        order = np.lexsort((index, row))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(ids)))])
        data = np.array([value for _, _, value in rows], np.float32)[order]
        return {"x_csr": (indptr, index[order], data), "num_features": max(column.values()) + 1, "notes": [understood]}
