"""Sparse features in a file of their own: pairs of node and feature, as MUSAE and SNAP's graphs of GitHub and Twitch."""

import json

import numpy as np

from .common import BadSource, is_missing, module, reading


def triplets(path):
    """(node, feature, value) of JSON {node: [feature, ...]} or {node: {feature: value}}, or of a table with the columns node,
    feature and optionally value, in this order."""
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as file:
            rows = json.load(file)
        if not isinstance(rows, dict):
            raise BadSource("expected an object {node: [feature, ...]}")
        return [(node, str(feature), row[feature] if isinstance(row, dict) else 1) for node, row in rows.items()
                for feature in row]
    with open(path, encoding="utf-8-sig") as file:
        header = file.readline()
    frame = module("pandas").read_csv(path, sep=max(",;\t ", key=header.count), dtype=str, encoding="utf-8-sig")
    if len(frame.columns) not in (2, 3):
        raise BadSource(f"expected the columns node, feature and optionally value, got {', '.join(map(str, frame.columns))}")
    for column in frame.columns:
        if frame[column].map(is_missing).any():
            raise BadSource(f"column '{column}' has no value in row {int(frame[column].map(is_missing).argmax()) + 1}")
    values = frame.iloc[:, 2].astype(float) if len(frame.columns) == 3 else np.ones(len(frame))
    return list(zip(frame.iloc[:, 0], frame.iloc[:, 1], values))


def sparse_features(path, ids):
    """x_csr and num_features of a file, for nodes with these ids, which are texts. Features that are integers are
    columns; others are numbered in ascending order."""
    with reading(path):
        rows = triplets(path)
        place = {text: i for i, text in enumerate(ids)}
        unknown = next((node for node, _, _ in rows if node not in place), None)
        if unknown is not None:
            raise BadSource(f"'{unknown}' is no id of the nodes")
        names = sorted({feature for _, feature, _ in rows})
        if all(name.isascii() and name.isdigit() and len(name) < 10 for name in names):
            column = {name: int(name) for name in names}
        else:
            column = {name: i for i, name in enumerate(names)}
        row, index = (np.array(part, np.int64) for part in ([place[node] for node, _, _ in rows],
                                                            [column[feature] for _, feature, _ in rows]))
        order = np.lexsort((index, row))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(ids)))])
        data = np.array([value for _, _, value in rows], np.float32)[order]
        return {"x_csr": (indptr, index[order], data), "num_features": max(column.values(), default=-1) + 1}
