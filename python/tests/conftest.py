"""Graphs and devices that the tests share. Cases on CUDA are skipped by name where there is no GPU."""
import signal

import numpy as np
import pytest

import rodeo

# A background job of a shell ignores Ctrl-C, and so would the processes that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


def make_edges(nodes=60, edges=400, seed=0, sources=None):
    """Random edges with duplicates and self loops, and a node without edges: int64 [2, edges]."""
    random = np.random.default_rng(seed)
    source = random.integers(0, sources or nodes, edges)
    target = random.integers(0, nodes - 1, edges)
    return np.stack([source, target])


def dense_matrix(edge_index, weight, rows, cols):
    matrix = np.zeros((rows, cols))
    np.add.at(matrix, (edge_index[1], edge_index[0]), 1 if weight is None else weight)
    return matrix


def cuda_absence():
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    if not torch.cuda.is_available():
        return "no CUDA device in PyTorch"
    info = rodeo.build_info()
    return "" if info["cuda_devices"] else "no CUDA device: " + info["cuda_absence"]


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.pluginmanager.register(SaysFailures(config.pluginmanager.get_plugin("terminalreporter")))


class SaysFailures:
    """Names a failed case at once: a run that is cut off prints no summary."""

    def __init__(self, terminal):
        self.terminal = terminal

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.terminal.write_line(f"\nFAILED {report.nodeid}: {report.longreprtext[-500:]}")


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """A device of PyTorch."""
    pytest.importorskip("torch")
    if request.param == "cuda" and cuda_absence():
        pytest.skip(cuda_absence())
    return request.param


@pytest.fixture
def edge_index():
    return make_edges()
