"""Fast sparse operators and training for graph neural networks, on CUDA GPUs and the CPU.

    import rodeo
    graph = rodeo.Graph.from_edge_index(edge_index)       # int64 or int32 [2, edges], as in PyTorch Geometric
    y = rodeo.spmm(graph, x, reduce="mean")               # y[i] = mean of x[j] over the edges j -> i

Operators read arrays of PyTorch, NumPy, CuPy and everything else with DLPack or __cuda_array_interface__ in place,
run on the caller's CUDA stream, and return arrays of the same framework, allocated by it. rodeo.torch has the same
operators with gradients, and layers that replace those of PyTorch Geometric. Errors are ValueError and MemoryError.
"""
import os as _os

from ._version import __version__

_h5_check = _os.path.join(_os.path.dirname(__file__), "rodeo_h5_check")
if "RODEO_H5_CHECK" not in _os.environ and _os.access(_h5_check, _os.X_OK):
    _os.environ["RODEO_H5_CHECK"] = _h5_check  # the program that reads untrusted HDF5 files first

# Threads that spin while they wait make training several times slower beside other programs. libgomp reads this once, when it
# is loaded: where PyTorch has loaded it, its choice stays. Programs that this one starts keep their own environment.
_waits = {} if {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"} & set(_os.environ) else {
    "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
_os.environ.update(_waits)
from ._core import build_info, empty_cache, num_threads, set_num_threads  # noqa: E402

for _name in _waits:
    del _os.environ[_name]
# A process that was forked, such as a worker of a DataLoader, has none of the threads that libgomp would wait for.
_os.register_at_fork(after_in_child=lambda: set_num_threads(1))

from .dataset import Dataset  # noqa: E402
from .graph import Graph  # noqa: E402
from .hetero import HeteroGraph  # noqa: E402
from .ops import (GcnGraph, dot_attention, edge_softmax, edge_sum, gat_attention, gatv2_attention, gcn_norm,  # noqa: E402
                  gcn_propagate, sddmm, segment_max, segment_mean, segment_min, segment_sum, spmm)
from ._weights import Model, load_model  # noqa: E402
from .classifier import NodeClassifier  # noqa: E402
from .loader import NeighborLoader  # noqa: E402
from .training import TrainResult, TrainResults, options, train  # noqa: E402

__all__ = ["Dataset", "Graph", "GcnGraph", "HeteroGraph", "Model", "NeighborLoader", "NodeClassifier", "TrainResult", "TrainResults",
           "__version__", "build_info", "dot_attention", "edge_softmax", "edge_sum", "empty_cache", "gat_attention", "gatv2_attention", "gcn_norm", "gcn_propagate",
           "load_model", "num_threads", "options", "sddmm", "segment_max", "segment_mean", "segment_min", "segment_sum",
           "set_num_threads", "spmm", "train"]
