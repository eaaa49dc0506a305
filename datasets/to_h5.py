#!/usr/bin/env python3
"""Converts a graph of a Python library or its files to an HDF5 dataset, whose
schema datasets/README.md describes.

  python3 to_h5.py SOURCE FILE.h5 [options]     (rodeo_data import runs this)
  python3 to_h5.py --nodes nodes.parquet --edges edges.parquet FILE.h5 [options]

SOURCE is one of
  pyg:Reddit pyg:Planetoid:Cora  a class of torch_geometric.datasets, its name
  dgl:RedditDataset      a class of dgl.data
  pyg:TUDataset:MUTAG    a set of graphs with a label each
  ogb:ogbn-arxiv         a dataset of OGB: ogbn-, ogbl- (links) or ogbg- (graphs)
  data.pt                torch.save of a torch_geometric Data or HeteroData,
                         or of a dict of its tensors
  g.graphml g.gml        node attributes are features, label and split; or .gz
  amazon.npz             gnn-benchmark layout (adj_data, attr_data, labels)
  cora.npz               graphgallery (adj_matrix, node_attr, node_label)
  minesweeper.npz        the heterophilous graphs (Platonov et al., ICLR 2023),
                         with their ten splits
  reddit_data.npz,reddit_graph.npz   DGL's two archives of Reddit
  matrix.npz             scipy.sparse.save_npz: edges go from row to column
--nodes and --edges are tables: .csv, .tsv (also .gz) or .parquet.

From Python: write(path, **graph), where graph is the result of from_pyg(data),
from_dgl(graph), from_ogb(dataset), from_ogb_graphs(dataset),
from_ogb_links(dataset), from_pyg_graphs(dataset), from_networkx(graph),
from_frames(nodes, edges), from_tables(nodes, edges), from_graphml(path),
from_pt(path) or from_npz(path). Of several node types (HeteroData, DGL's
heterographs, OGB's dicts): write_hetero(path, **graph).
Needs h5py and NumPy; other packages for their sources only: torch,
torch_geometric, dgl, ogb, networkx (GraphML, GML), pyarrow (Parquet).
"""

import argparse
import os
import sys
import textwrap

try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
except ImportError as error:
    sys.exit(f"to_h5.py: needs the Python packages h5py and numpy (pip install h5py numpy): {error}")

_HERE = os.path.dirname(os.path.realpath(__file__))
for _folder in (_HERE, os.path.join(_HERE, "..", "share", "rodeo", "scripts")):  # the source tree, the installed project
    if os.path.isdir(os.path.join(_folder, "to_h5_parts")):
        sys.path.insert(0, _folder)
        break
else:
    sys.exit("to_h5.py: its folder to_h5_parts is missing: keep it beside to_h5.py")

from to_h5_parts import common  # noqa: E402, F401
from to_h5_parts.archives import from_npz, from_reddit  # noqa: E402
from to_h5_parts.common import MASKS, BadSource, module  # noqa: E402, F401
from to_h5_parts.hetero import from_dicts, write_hetero  # noqa: E402, F401
from to_h5_parts.libraries import (from_dgl, from_graphml, from_networkx, from_ogb, from_ogb_graphs,  # noqa: E402, F401
                                   from_ogb_links, from_pt, from_pyg, from_pyg_graphs, load_ogb, named)
from to_h5_parts.tables import from_frames, from_tables, parse_roles  # noqa: E402, F401
from to_h5_parts.write import without_reverse, write  # noqa: E402


def load_of_package(kind, rest, root):
    """The arrays of a data set of PyG, DGL or OGB."""
    name = rest.split(":")[-1].lower()
    if kind == "ogb":
        return load_ogb(rest, root) | {"name": name}
    if kind == "dgl":
        return from_dgl(named(module("dgl.data"), rest, root)[0], name)
    dataset = named(module("torch_geometric.datasets"), rest, root)
    y = getattr(dataset[0], "y", None) if len(dataset) > 1 else None
    return from_pyg_graphs(dataset, name) if y is not None and y.numel() < dataset[0].num_nodes else from_pyg(dataset[0], name)


def load(source, options):
    """The arrays of a source, for write()."""
    kind, colon, rest = source.partition(":")
    if colon and kind in ("pyg", "dgl", "ogb"):
        try:
            return load_of_package(kind, rest, options.root)
        except (BadSource, OSError, KeyError, ValueError):
            raise
        except Exception as error:  # packages raise errors of many types
            text = str(error).split("\n", 1)[0]
            if isinstance(error, ImportError) and error.name:
                raise BadSource(f"the package needs another one (pip install {error.name.split('.')[0]}): {text}") from error
            raise BadSource(f"the package cannot load it: {type(error).__name__}: {text}") from error
    if source.endswith((".graphml", ".graphml.gz", ".gml", ".gml.gz")):
        return from_graphml(source, columns=parse_roles(options.columns), features=options.feature_columns,
                            regression=options.regression, missing=options.missing)
    if options.columns or options.feature_columns or options.missing != "error":
        raise BadSource("--columns, --feature-columns and --missing belong to tables, GraphML and GML")
    if "," in source:
        return from_reddit(*source.split(",", 1))
    if source.endswith((".pt", ".pth")):
        return from_pt(source, trust=options.trust)
    if source.endswith(".npz"):
        return from_npz(source)
    raise BadSource(f"unknown source '{source}': pyg:NAME, dgl:NAME, ogb:NAME, FILE.pt, FILE.graphml, FILE.gml, FILE.npz, "
                    "DATA.npz,GRAPH.npz, or --nodes FILE --edges FILE")


def check_output(out, inputs):
    """`out` is an HDF5 file by its name, and none of the files that are read, also by another path or a link."""
    for path in inputs:
        if path and os.path.exists(path) and os.path.exists(out) and os.path.samefile(path, out):
            raise BadSource(f"{out} is written, too: name another file")
    if os.path.splitext(out)[1] not in (".h5", ".hdf5"):
        error = BadSource("unknown suffix: expected .h5 or .hdf5")
        error.path = out
        raise error


def main(arguments=None):
    about = "\n".join(textwrap.fill(line, 80, subsequent_indent=" " * 38 * line.startswith("  ")) for line in __doc__.split("\n"))
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="to_h5.py [options] (SOURCE | --edges FILE [--nodes FILE]) FILE")
    parser.add_argument("files", nargs="+", metavar="SOURCE FILE.h5")
    parser.add_argument("--nodes", metavar="FILE", help="a table with columns id, label, split and features")
    parser.add_argument("--edges", metavar="FILE", help="a table with columns source, target and optionally weight")
    parser.add_argument("--columns", metavar="ROLE=NAME,...", help="other names of columns: id=paper,label=topic")
    parser.add_argument("--feature-columns", metavar="LIST", help="names and prefixes (x*) of features (default: all "
                        "columns without another role)")
    parser.add_argument("--missing", default="error", metavar="mean|zero|error", help="features without a value become the "
                        "mean of the column or 0; they are counted (default: error)")
    parser.add_argument("--sparse-features", metavar="FILE", help="features instead of columns: JSON {node: [feature, ...]} "
                        "or {node: {feature: value}}, or a table of node, feature and optionally value")
    parser.add_argument("--undirected", action="store_true", help="add the reverse of every edge")
    parser.add_argument("--drop-self-loops", action="store_true", help="drop the edges from a node to itself")
    parser.add_argument("--regression", action="store_true", help="labels are numbers to predict, even if all are whole")
    parser.add_argument("--multi-label", action="store_true", help="a matrix of labels stays several labels even if each "
                        "node has exactly one of them")
    parser.add_argument("--name", metavar="TEXT", help="name of the dataset in logs")
    parser.add_argument("--root", default="data", help="download folder of the packages (default: data)")
    parser.add_argument("--trust", action="store_true", help="load .pt files whose classes can execute code")
    options = parser.parse_intermixed_args(arguments)
    tables = options.edges or options.nodes
    if len(options.files) != (1 if tables else 2) or (options.nodes and not options.edges):
        parser.error("expected SOURCE FILE.h5, or --edges FILE, optionally --nodes FILE, and FILE.h5")
    if options.sparse_features and (not options.nodes or options.feature_columns):
        parser.error("--sparse-features belongs to --nodes FILE, and replaces --feature-columns")
    source, out = tables or options.files[0], options.files[-1]
    try:
        check_output(out, [options.nodes, options.edges, options.sparse_features, *source.split(",")])
        if tables:
            graph = from_tables(options.nodes, options.edges, parse_roles(options.columns), options.feature_columns,
                                regression=options.regression, missing=options.missing,
                                sparse=options.sparse_features)
        else:
            graph = load(source, options)
        if options.name:
            graph["name"] = options.name
        if "types" in graph:
            if options.undirected or options.drop_self_loops:
                raise BadSource("--undirected and --drop-self-loops are for one node type")
            print(*write_hetero(out, regression=options.regression, multi_label=options.multi_label, **graph), sep="\n")
            return 0
        understood = write(out, undirected=options.undirected, drop_self_loops=options.drop_self_loops,
                           regression=options.regression, multi_label=options.multi_label, **graph)
        one_way = 0 if options.undirected else without_reverse(graph["src"], graph["dst"])
    except (BadSource, OSError, KeyError, ValueError) as error:
        text = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        print(f"to_h5.py: {getattr(error, 'path', None) or source}: {text}".replace("\n", " "), file=sys.stderr)
        return 2
    print(*understood, f"{out}: {graph['name']}, {graph['num_nodes']} nodes", sep="\n")
    if one_way:
        print(f"to_h5.py: {one_way} of {len(graph['src'])} edges have no reverse edge. Messages go from source to destination "
              "only; most benchmarks expect both directions: --undirected adds them", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
