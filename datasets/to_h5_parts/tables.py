"""Tables of nodes and edges: CSV, Parquet, pandas frames."""

import os

import numpy as np

from .common import BadSource, classify, is_missing, module, name_nodes, nearly_all_differ, reading
from .csv_file import is_number, read_csv, typed
from .sparse import sparse_features

USUAL = {  # role: usual names of its column, in lower case
    "id": ("id", "node", "node_id"),
    "label": ("label", "class", "target"),
    "split": ("split",),
    "train": ("train", "train_mask"),
    "val": ("val", "valid", "validation", "val_mask"),
    "test": ("test", "test_mask"),
    "source": ("source", "src", "from", "id1", "id_1"),
    "target": ("target", "dst", "to", "id2", "id_2"),
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


WORDS = {"": np.nan, "nan": np.nan, "NaN": np.nan} | {word: value for text, value in (("true", 1), ("false", 0))
                                                      for word in (text, text.title(), text.upper())}


def features_of(values, where, column, missing):
    """A feature column as float32 [nodes, n], its number of missing values, and of texts the number of their columns.
    Texts become one-hot columns, in ascending order. `missing`: error, zero or mean; a missing text is 0 in all columns."""
    values = np.asarray(values)
    if values.dtype.kind not in "OUf" or values.ndim > 1 or any(np.ndim(value) for value in values[:1]):
        return numbers(values, where, column).reshape(len(values), -1), 0, 0
    texts = values.dtype.kind != "f"
    if texts:
        values = np.array([WORDS.get(value, value) if isinstance(value, str) else value for value in values], object)
    gaps = np.array([is_missing(value) for value in values], bool) if texts else np.isnan(values)
    if gaps.any() and missing == "error":
        raise BadSource(f"{where}: feature '{column}' has no value for node {gaps.argmax()}: fill it, give --missing mean or "
                        "--missing zero, or choose others by --feature-columns")
    known = [is_number(value) for value in values[~gaps]] if texts else ()
    if known and not any(known):
        texts = sorted({str(value) for value in values[~gaps]})
        if nearly_all_differ(len(texts), len(values)) or len(texts) > 1000:
            raise BadSource(f"{where}: feature '{column}' has {len(texts)} texts for {len(values)} nodes, too many for a "
                            "column each: choose features by --feature-columns, or give it a role by --columns")
        return np.array([[str(value) == text and not gap for text in texts] for value, gap in zip(values, gaps)],
                        np.float32), int(gaps.sum()), len(texts)
    if not all(known):
        return numbers(values, where, column), 0, 0  # says what is wrong
    out = np.where(gaps, 0, values).astype(np.float64)
    out[gaps] = out[~gaps].mean() if missing == "mean" and not gaps.all() else 0
    return out.astype(np.float32)[:, None], int(gaps.sum()), 0


def all_features(columns, chosen, where, missing):
    """x of the chosen columns, and what was understood."""
    if missing not in ("error", "zero", "mean"):
        raise BadSource(f"--missing must be error, zero or mean, got '{missing}'")
    parts = [(name, *features_of(columns[name], where, name, missing)) for name in chosen]
    filled, plain = sum(part[2] for part in parts), sum(part[3] == 0 for part in parts)
    note = f"features: {plain} {'column' if plain == 1 else 'columns'} of numbers"
    note += "".join(f", '{name}' one-hot of {n} {'text' if n == 1 else 'texts'}" for name, _, _, n in parts if n)
    if filled:
        note += f"; {filled} missing {'value is' if filled == 1 else 'values are'} "
        note += "the mean of the column" if missing == "mean" else "0"
    return {"x": np.column_stack([part[1] for part in parts]), "notes": [note]} if parts else {}


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
        values = np.array([0 if is_missing(value) else int(WORDS.get(value, value)) for value in columns[name]])
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


def node_arrays(columns, given, features, where, regression=False, missing="error"):
    """x, y, class_names and masks of {column: values}; features=False: no x."""
    names = list(columns)
    roles = {role: role_of(role, names, given, where) for role in ("label", "split", *PARTS)}
    out = {}
    if roles["label"] is not None and regression:
        out["y"] = targets(columns[roles["label"]], where, roles["label"])
    elif roles["label"] is not None:
        y, class_names = classify(columns[roles["label"]])
        out |= {"y": y} | ({"class_names": class_names} if class_names else {})
    masks = masks_of(columns, roles, where)
    if masks:
        out["masks"] = masks
        unlabelled = np.flatnonzero(np.any(masks, axis=0) & (out["y"] < 0)) if "y" in out and not regression else ()
        if len(unlabelled):
            raise BadSource(f"{where}: node {unlabelled[0]} is in the split and has no label")
    taken = [given.get("id"), *roles.values()]
    return out if features is False else out | all_features(columns, choose_features(names, features, taken, where), where,
                                                            missing)


def ids_of(values, column, where):
    """A column of ids as texts, so that those of both tables compare; 7.0 is 7."""
    out = []
    for row, value in enumerate(values):
        if is_missing(value):
            raise BadSource(f"{where}: '{column}' is missing in row {row + 1}")
        out.append(str(int(value)) if isinstance(value, float) and value == int(value) else str(value))
    return out


def columns_of(frame):
    """A pandas frame as arrays by name; a dict as it is."""
    return frame if isinstance(frame, dict) else {str(name): frame[name].to_numpy() for name in frame.columns}


def from_frames(nodes, edges, name="table", columns=None, features=None, where=("nodes", "edges"),
                regression=False, missing="error", sparse=None):
    """Reads pandas frames, or dicts of columns: nodes (or None) with a column id, and optionally label, split (or train, val and test)
    and features; edges with source, target and optionally weight. `columns` maps roles to names of columns, `features`
    lists names and prefixes (x*) of feature columns; without it they are all that have no other role. `regression`: the
    label is a number to predict, not a class. `missing`: as features_of. `sparse`: a file of sparse features, instead of
    columns (sparse.triplets)."""
    columns = dict(columns or {})
    edges = columns_of(edges)
    edge_names = list(edges)
    keys = [role_of(role, edge_names, columns, where[1]) for role in ("source", "target", "weight")]
    for role, key in zip(("source", "target"), keys):
        if key is None:
            raise BadSource(f"{where[1]}: no column '{role}'; there are {', '.join(edge_names)}: rename one, or say which "
                            f"by --columns {role}=NAME")
    ends = [ids_of(edges[key], key, where[1]) for key in keys[:2]]
    out = {"name": name}
    if nodes is None:
        ids = list(dict.fromkeys(end for pair in zip(*ends) for end in pair))
        if "node_names" not in name_nodes(ids):
            ids.sort(key=int)
    else:
        nodes = columns_of(nodes)
        names = list(nodes)
        columns["id"] = key = role_of("id", names, columns, where[0])
        if key is None:
            raise BadSource(f"{where[0]}: no column 'id'; there are {', '.join(names)}: rename one, or say which by "
                            "--columns id=NAME")
        ids = ids_of(nodes[key], key, where[0])
        if not ids:
            raise BadSource(f"{where[0]}: no nodes below the header: expected a line for each")
        out |= node_arrays({name: typed(values) for name, values in nodes.items()}, columns, False if sparse else features,
                           where[0], regression, missing)
    place = {}
    for row, text in enumerate(ids):
        if place.setdefault(text, row) != row:
            raise BadSource(f"{where[0]}: row {row + 1}: the id '{text}' is already that of row {place[text] + 1}")
    if sparse:
        out |= sparse_features(sparse, ids, "those of the edges" if nodes is None else
                               f"in column '{key}' of {where[0]}: --columns id=NAME names another")
    for role, end in zip(("source", "target"), ends):
        unknown = next((row for row, text in enumerate(end) if text not in place), None)
        if unknown is not None:
            raise BadSource(f"{where[1]}: row {unknown + 1}: {role} '{end[unknown]}' is no id of {where[0]}: add the node there, leave "
                            "the edge out, or name another column of ids by --columns id=NAME")
    out |= {"num_nodes": len(ids)} | name_nodes(ids)
    out["src"], out["dst"] = (np.array([place[text] for text in end], np.int64) for end in ends)
    if keys[2] is not None:
        out["edge_weight"] = numbers(typed(edges[keys[2]]), where[1], keys[2])
    return out


def read_parquet(path):
    """The columns of a Parquet file as arrays by name."""
    table = module("pyarrow.parquet").read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names if not name.startswith("__index_level_")}


def read_table(path):
    if not os.path.exists(path):
        raise BadSource("no such file")
    if path.endswith((".parquet", ".pq")):
        return read_parquet(path)
    if not path.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
        raise BadSource("unknown kind of table: expected .csv, .tsv, .csv.gz, .tsv.gz, .parquet or .pq")
    return read_csv(path)


def from_tables(nodes, edges, columns=None, features=None, **options):
    """Reads two files; nodes may be None. Options as in from_frames."""
    frames = []
    for path in (nodes, edges):
        with reading(path):
            frames.append(None if path is None else read_table(path))
    name = os.path.basename(nodes or edges).split(".")[0]
    return from_frames(*frames, name=name, columns=columns, features=features, where=(nodes or "nodes", edges),
                       **options)
