"""What the package does to its process: threads that wait, forked processes, what importing it loads."""
import os
import subprocess
import sys

import pytest

import rodeo

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(rodeo.__file__)), "OMP_NUM_THREADS": "2"}
for _name in "OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME":
    ENVIRONMENT.pop(_name, None)


def run(program, **more):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, env={**ENVIRONMENT, **more})
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("given, shown", [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "active"}, "ACTIVE")])
def test_threads_wait_without_spinning_unless_the_user_says_so(given, shown):
    text = run("import rodeo, os; print(os.environ.get('GOMP_SPINCOUNT'))", OMP_DISPLAY_ENV="VERBOSE", **given)
    assert f"OMP_WAIT_POLICY = '{shown}'" in text and "None" in text


def test_operators_run_in_a_forked_process():
    run("import os, signal, numpy as np, rodeo\n"
        "graph = rodeo.Graph.from_edge_index(np.random.default_rng(0).integers(0, 2000, (2, 100000)))\n"
        "x = np.ones((2000, 64), 'float32')\n"
        "y = rodeo.spmm(graph, x)\n"
        "if not (child := os.fork()):\n"
        "    signal.alarm(60)\n"
        "    os._exit(int((rodeo.spmm(graph, x) != y).any()))\n"
        "assert os.waitpid(child, 0)[1] == 0\n")


def test_training_in_a_daemon_thread_ends_with_the_process():
    run("import threading, rodeo\n"
        "data, going = rodeo.Dataset.generate('cora'), threading.Event()\n"
        "train = lambda: rodeo.train(data, epochs=10 ** 6, device='cpu', callback=lambda epoch: going.set())\n"
        "threading.Thread(target=train, daemon=True).start()\n"
        "going.wait()\n")


def test_the_layers_do_not_import_the_compiler():
    pytest.importorskip("torch", minversion="2.4")
    assert run("import torch, sys, rodeo.torch.nn; print('torch._dynamo' in sys.modules)") == "False\n"


@pytest.mark.skipif(not rodeo.build_info()["cpu"].startswith("x86-64"), reason="this build has CPU kernels of one level")
def test_each_level_of_the_processor_has_kernels_of_its_own():
    program = ("import numpy as np, rodeo\n"
               "graph = rodeo.Graph.from_edge_index(np.random.default_rng(0).integers(0, 99, (2, 999)), 99)\n"
               "x, weight = (np.sqrt(np.arange(n, dtype='float32')) for n in (99 * 33, 999))\n"
               "y = rodeo.spmm(graph, x.reshape(99, 33), weight).astype('float64')\n"
               "print(rodeo.build_info()['cpu'], y.sum())")
    levels = [f"x86-64-{level}" for level in ("v2", "v3", "v4")]
    results = dict(run(program, RODEO_CPU_LEVEL=level[7:]).split() for level in levels[:levels.index(rodeo.build_info()["cpu"]) + 1])
    assert all(float(value) == pytest.approx(float(results["x86-64-v2"]), rel=1e-6) for value in results.values())
    if "x86-64-v3" in results:  # it has fused multiply-adds
        assert results["x86-64-v2"] != results["x86-64-v3"]
    assert "RODEO_CPU_LEVEL must be v2, v3 or v4" in run("import rodeo\ntry: rodeo.build_info()\nexcept ValueError as e: print(e)", RODEO_CPU_LEVEL="v9")
