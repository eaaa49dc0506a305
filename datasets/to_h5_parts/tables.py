"""Tables of nodes and edges: CSV, Parquet, pandas frames."""

import os

import numpy as np

from .common import BadSource, classify, is_missing, module, name_nodes

USUAL = {  # role: usual names of its column, in lower case
    "id": ("id", "node", "node_id"),
    "label": ("label", "class"),
    "split": ("split",),
    "train": ("train", "train_mask"),
    "val": ("val", "valid", "validation", "val_mask"),
    "test": ("test", "test_mask"),
    "source": ("source", "src", "from"),
    "target": ("target", "dst", "to"),
    "weight": ("weight", "edge_weight"),
}
PARTS = ("train", "val", "test")


def parse_roles(text):
    """'id=paper,label=topic' as a dict."""
    roles = {}
    for part in (text or "").split(",") if text else ():
        role, equals, name = part.partition("=")
        if role not in USUAL or not equals or not name:
            raise BadSource(f"--columns must be ROLE=NAME,... with roles of {', '.join(USUAL)}, got '{part}'")
        roles[role] = name
    return roles


def role_of(role, names, given, where):
    """The name of the column with a role, or None."""
    if role in given:
        if given[role] not in names:
            raise BadSource(f"{where}: no column '{given[role]}'; there are {', '.join(names) or 'none'}")
        return given[role]
    found = [name for name in names if name.lower() in USUAL[role] and name not in given.values()]
    if len(found) > 1:
        raise BadSource(f"{where}: columns '{found[0]}' and '{found[1]}' could both be the {role}: choose by "
                        f"--columns {role}=NAME")
    return found[0] if found else None


def is_number(value):
    try:
        return np.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def numbers(values, where, column):
    """A feature column as float32 [nodes] or, of lists, [nodes, n]."""
    values = np.asarray(values)
    if values.dtype.kind == "O":
        missing = [i for i, value in enumerate(values) if is_missing(value)]
        if missing:
            raise BadSource(f"{where}: feature '{column}' has no value for node {missing[0]}: fill it, or choose others "
                            "by --feature-columns")
        try:
            values = np.stack([np.asarray(value) for value in values])
        except ValueError as error:
            raise BadSource(f"{where}: feature '{column}': {error}") from error
    if values.dtype.kind not in "biuf" or values.ndim > 2:
        example = next((value for value in values.ravel() if not is_number(value)), values.ravel()[0])
        raise BadSource(f"{where}: feature '{column}' must be numbers, got '{example}': choose features by "
                        "--feature-columns, or give it a role by --columns")
    return values.astype(np.float32)


def choose_features(names, wanted, taken, where):
    """The feature columns: all that have no other role, or those of the list of names and prefixes."""
    free = [name for name in names if name not in taken and name and not name.startswith("Unnamed: ")]
    if not wanted:
        return free
    chosen = []
    for part in wanted.split(",") if isinstance(wanted, str) else wanted:
        fits = [name for name in free if (name.startswith(part[:-1]) if part.endswith("*") else name == part)]
        if not fits:
            raise BadSource(f"{where}: no column fits '{part}' of --feature-columns; there are {', '.join(free)}")
        chosen += [name for name in fits if name not in chosen]
    return [name for name in free if name in chosen]


def masks_of(columns, roles, where):
    """Three masks of a column of words or three columns of 0 and 1; None without."""
    if roles["split"] is not None:
        words = {"train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}
        parts = []
        for i, value in enumerate(columns[roles["split"]]):
            if not is_missing(value) and value != "none" and value not in words:
                raise BadSource(f"{where}: split of node {i} must be train, val, test or nothing, got '{value}'")
            parts.append(-1 if is_missing(value) else words.get(value, -1))
        return [np.array(parts) == part for part in range(3)]
    given = [roles[part] for part in PARTS]
    if given == [None] * 3:
        return None
    if None in given:
        raise BadSource(f"{where}: a split needs three columns of 0 and 1, train, val and test, got "
                        f"{', '.join(name for name in given if name)}")
    masks = []
    for name in given:
        values = np.array([0 if is_missing(value) else int(value) for value in columns[name]])
        if not np.isin(values, (0, 1)).all():
            raise BadSource(f"{where}: column '{name}' must be 0 or 1")
        masks.append(values == 1)
    return masks


def targets(values, where, name):
    """float32 [nodes, 1] of a column of numbers; NaN where one is missing."""
    try:
        return np.array([[np.nan if is_missing(value) else float(value)] for value in values], np.float32)
    except ValueError as error:
        raise BadSource(f"{where}: column '{name}' must be numbers for --regression: {error}") from None


def node_arrays(columns, given, features, where, regression=False):
    """x, y, class_names and masks of {column: values}."""
    names = list(columns)
    roles = {role: role_of(role, names, given, where) for role in ("label", "split", *PARTS)}
    out = {}
    if roles["label"] is not None and regression:
        out["y"] = targets(columns[roles["label"]], where, roles["label"])
    elif roles["label"] is not None:
        y, class_names = classify(columns[roles["label"]])
        if class_names and len(class_names) == len(y) > 2:
            raise BadSource(f"{where}: each node has a '{roles['label']}' of its own, which is no class: name the label "
                            "by --columns label=NAME, or say that it is a number to predict by --regression")
        out |= {"y": y} | ({"class_names": class_names} if class_names else {})
    masks = masks_of(columns, roles, where)
    if masks:
        out["masks"] = masks
        unlabelled = np.flatnonzero(np.any(masks, axis=0) & (out["y"] < 0)) if "y" in out and not regression else ()
        if len(unlabelled):
            raise BadSource(f"{where}: node {unlabelled[0]} is in the split and has no label")
    taken = [given.get("id"), *roles.values()]
    parts = [numbers(columns[name], where, name) for name in choose_features(names, features, taken, where)]
    if parts:
        out["x"] = np.column_stack(parts)
    return out


def ids_of(frame, column, where):
    """A column of ids as texts, so that those of both tables compare; 7.0 is 7."""
    out = []
    for row, value in enumerate(frame[column].tolist()):
        if is_missing(value):
            raise BadSource(f"{where}: '{column}' is missing in row {row + 1}")
        out.append(str(int(value)) if isinstance(value, float) and value == int(value) else str(value))
    return out


def from_frames(nodes, edges, name="table", columns=None, features=None, where=("nodes", "edges"),
                regression=False):
    """Reads pandas frames: nodes (or None) with a column id, and optionally label, split (or train, val and test)
    and features; edges with source, target and optionally weight. `columns` maps roles to names of columns, `features`
    lists names and prefixes (x*) of feature columns; without it they are all that have no other role. `regression`: the
    label is a number to predict, not a class."""
    columns = dict(columns or {})
    edge_names = [str(column) for column in edges.columns]
    edges = edges.set_axis(edge_names, axis=1)
    keys = [role_of(role, edge_names, columns, where[1]) for role in ("source", "target", "weight")]
    for role, key in zip(("source", "target"), keys):
        if key is None:
            raise BadSource(f"{where[1]}: no column '{role}'; there are {', '.join(edge_names)}: rename one, or say which "
                            f"by --columns {role}=NAME")
    ends = [ids_of(edges, key, where[1]) for key in keys[:2]]
    out = {"name": name}
    if nodes is None:
        ids = list(dict.fromkeys(end for pair in zip(*ends) for end in pair))
        if "node_names" not in name_nodes(ids):
            ids.sort(key=int)
    else:
        names = [str(column) for column in nodes.columns]
        nodes = nodes.set_axis(names, axis=1)
        columns["id"] = key = role_of("id", names, columns, where[0])
        if key is None:
            raise BadSource(f"{where[0]}: no column 'id'; there are {', '.join(names)}: rename one, or say which by "
                            "--columns id=NAME")
        ids = ids_of(nodes, key, where[0])
        out |= node_arrays({name: nodes[name].to_numpy() for name in names}, columns, features, where[0],
                           regression)
    place = {}
    for row, text in enumerate(ids):
        if place.setdefault(text, row) != row:
            raise BadSource(f"{where[0]}: row {row + 1}: the id '{text}' is already that of row {place[text] + 1}")
    for role, end in zip(("source", "target"), ends):
        unknown = next((row for row, text in enumerate(end) if text not in place), None)
        if unknown is not None:
            raise BadSource(f"{where[1]}: row {unknown + 1}: {role} '{end[unknown]}' is no id of {where[0]}")
    out |= {"num_nodes": len(ids)} | name_nodes(ids)
    out["src"], out["dst"] = (np.array([place[text] for text in end], np.int64) for end in ends)
    if keys[2] is not None:
        out["edge_weight"] = numbers(edges[keys[2]].to_numpy(), where[1], keys[2])
    return out


def read_frame(path):
    """Reads a CSV or Parquet file. Ids in CSV stay texts."""
    pandas = module("pandas")
    if path.endswith((".parquet", ".pq")):
        module("pyarrow")
        return pandas.read_parquet(path)
    if not path.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        raise BadSource(f"{path}: unknown kind of table: expected .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq")
    options = {"sep": "\t" if ".tsv" in path[-7:] else ",", "encoding": "utf-8-sig", "skipinitialspace": True,
               "keep_default_na": False, "na_values": [""]}
    header = pandas.read_csv(path, nrows=0, **options).columns
    return pandas.read_csv(path, dtype={name: str for name in header if is_text(name)}, **options)


def is_text(name):
    return any(name.lower() in USUAL[role] for role in ("id", "source", "target"))


def from_tables(nodes, edges, columns=None, features=None, regression=False):
    """Reads two files; nodes may be None."""
    for path in (nodes, edges):
        if path and not os.path.exists(path):
            raise BadSource(f"{path}: no such file")
    frames = [None if path is None else read_frame(path) for path in (nodes, edges)]
    name = os.path.basename(nodes or edges).split(".")[0]
    return from_frames(*frames, name=name, columns=columns, features=features, where=(nodes or "nodes", edges),
                       regression=regression)
