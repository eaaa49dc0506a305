"""Operators on NumPy arrays: values against dense matrices, memory, errors, threads."""
import gc
import sys
import threading

import numpy as np
import pytest

import rodeo
from conftest import dense_matrix, make_edges

N = 60


@pytest.fixture
def graph(edge_index):
    return rodeo.Graph.from_edge_index(edge_index, N)


def random(*shape, dtype="float32", seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("ids", ["int64", "int32"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("columns", [0, 1, 3, 16, 33])
def test_spmm_sums_sources_into_targets(edge_index, ids, dtype, columns):
    graph = rodeo.Graph.from_edge_index(edge_index.astype(ids), N)
    x, weight = random(N, columns, dtype=dtype), random(edge_index.shape[1], dtype=dtype)
    tolerance = {"float64": 1e-12, "float32": 1e-5, "float16": 3e-2}[dtype]
    for w in None, weight:
        y = rodeo.spmm(graph, x, None if w is None else graph.permute(w))
        assert isinstance(y, np.ndarray) and y.dtype == dtype and y.shape == (N, columns)
        np.testing.assert_allclose(y, dense_matrix(edge_index, w, N, N) @ x, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("reduce", ["mean", "max", "min"])
def test_reductions(graph, reduce):
    x = random(N, 5)
    y = rodeo.spmm(graph, x, reduce=reduce)
    for i in range(N):
        messages = x[graph.indices[graph.indptr[i]:graph.indptr[i + 1]]]
        expected = getattr(np, reduce)(messages, axis=0) if len(messages) else np.zeros(5)
        np.testing.assert_allclose(y[i], expected, atol=1e-6)


def test_heads_transpose_and_bipartite():
    edges = make_edges(40, 300, sources=25)
    graph = rodeo.Graph.from_edge_index(edges, 40, num_sources=25)
    assert (graph.num_nodes, graph.num_sources, graph.num_edges) == (40, 25, 300)
    x, weight = random(25, 2, 3), random(300, 2)
    y = rodeo.spmm(graph, x, graph.permute(weight))
    for h in range(2):
        np.testing.assert_allclose(y[:, h], dense_matrix(edges, weight[:, h], 40, 25) @ x[:, h], atol=1e-5)
    z = random(40, 4)
    np.testing.assert_allclose(rodeo.spmm(graph.T, z), dense_matrix(edges, None, 40, 25).T @ z, atol=1e-5)
    assert graph.T.T is graph


def test_sddmm_softmax_and_sums(graph):
    a, b = random(N, 4), random(N, 4, seed=2)
    source, target = graph.edge_index()
    s = rodeo.sddmm(graph, a, b)
    np.testing.assert_allclose(s, (a[target] * b[source]).sum(1), atol=1e-5)
    np.testing.assert_allclose(rodeo.sddmm(graph, a, b, op="add"), a[target] + b[source], atol=1e-6)
    np.testing.assert_allclose(rodeo.sddmm(graph, a, b, op="mul"), a[target] * b[source], atol=1e-6)
    y = rodeo.edge_softmax(graph, s)
    has_edges = graph.indptr[1:] > graph.indptr[:-1]
    np.testing.assert_allclose(rodeo.edge_sum(graph, y), has_edges, atol=1e-5)


def test_gat_attention_is_its_formula(graph):
    s, t, x = random(N, 2), random(N, 2, seed=2), random(N, 2, 3, seed=3)
    score = rodeo.sddmm(graph, s.reshape(N, 2), t.reshape(N, 2), op="add")
    attention = rodeo.edge_softmax(graph, np.where(score > 0, score, 0.2 * score).astype("float32"))
    np.testing.assert_allclose(rodeo.gat_attention(graph, s, t, x), rodeo.spmm(graph, x, attention), atol=1e-5)
    masks = [rodeo.gat_attention(graph, s, t, x, dropout=0.5, seed=np.array([k])) for k in (1, 1, 2)]
    assert (masks[0] == masks[1]).all() and (masks[0] != masks[2]).any()


def test_other_attention_is_its_formula(graph):
    q, key, v, bias, edge = random(N, 2, 3), random(N, 2, 3, seed=2), random(N, 2, 3, seed=3), random(graph.num_edges, 2), \
        random(graph.num_edges, 2, 3, seed=4)
    source, target = graph.edge_index()

    def weighted(score, values):
        weight = rodeo.edge_softmax(graph, np.ascontiguousarray(score, "float32"))[..., None] * values
        return rodeo.edge_sum(graph, weight.reshape(-1, 6)).reshape(N, 2, 3)

    y = weighted(0.5 * (q[target] * (key[source] + edge)).sum(-1) + bias, v[source] + edge)
    np.testing.assert_allclose(rodeo.dot_attention(graph, q, key, v, bias=bias, edge=edge, scale=0.5), y, atol=1e-5)
    hidden = q[target] + key[source] + edge
    y = weighted((np.where(hidden > 0, hidden, 0.2 * hidden) * v[0]).sum(-1), key[source])
    np.testing.assert_allclose(rodeo.gatv2_attention(graph, q, key, v[0], edge=edge), y, atol=1e-5)


def test_gcn_norm(edge_index):
    simple = np.unique(edge_index[:, edge_index[0] != edge_index[1]], axis=1)
    graph = rodeo.Graph.from_edge_index(simple, N)
    weight = np.abs(random(graph.num_edges)) + 0.1
    x = random(N, 3)
    for w in None, weight:
        a = dense_matrix(simple, w, N, N) + np.eye(N)
        d = np.diag(a.sum(1) ** -0.5)
        normal = rodeo.gcn_norm(graph, None if w is None else graph.permute(w))
        np.testing.assert_allclose(rodeo.gcn_propagate(normal, x), d @ a @ d @ x, atol=1e-5)


def test_segments():
    x, offsets = random(10, 3), np.array([0, 4, 4, 10])
    np.testing.assert_allclose(rodeo.segment_sum(x, offsets), [x[:4].sum(0), np.zeros(3), x[4:].sum(0)], atol=1e-5)
    np.testing.assert_allclose(rodeo.segment_mean(x, offsets)[2], x[4:].mean(0), atol=1e-6)
    assert (rodeo.segment_max(x, offsets.astype("int32"))[0] == x[:4].max(0)).all()
    assert (rodeo.segment_min(x, offsets)[2] == x[4:].min(0)).all()


def test_from_csr_shares_sorted_arrays():
    indptr, indices = np.array([0, 2, 2, 3]), np.array([0, 2, 1], dtype="int32")
    graph = rodeo.Graph.from_csr(indptr, indices)
    assert np.shares_memory(graph.indices, indices)
    assert (rodeo.spmm(graph, np.eye(3)) == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]).all()
    unsorted = rodeo.Graph.from_csr(indptr, np.array([2, 0, 1]))
    assert list(unsorted.indices) == [0, 2, 1] and list(unsorted.edge_ids) == [1, 0, 2]


def test_options_of_construction():
    edges = np.array([[0, 1, 1, 2], [1, 2, 2, 2]])
    count = {option: rodeo.Graph.from_edge_index(edges, 3, **options).num_edges
             for option, options in {"plain": {}, "drop": {"self_loops": "drop"}, "add": {"self_loops": "add"},
                                     "both": {"symmetrize": True}, "once": {"drop_duplicates": True}}.items()}
    assert count == {"plain": 4, "drop": 3, "add": 6, "both": 5, "once": 3}
    assert rodeo.Graph.from_edge_index(edges).num_nodes == 3
    assert rodeo.Graph.from_edge_index(np.zeros((2, 0), "int64")).num_nodes == 0


def test_out_is_written_in_place(graph):
    x = random(N, 8)
    for reduce in "sum", "mean", "max":
        out = np.full((N, 8), np.nan, "float32")
        assert rodeo.spmm(graph, x, reduce=reduce, out=out) is out
        np.testing.assert_array_equal(out, rodeo.spmm(graph, x, reduce=reduce))
    with pytest.raises(ValueError, match=r"out must be f32 \[60, 8\], got f64 \[60, 8\]"):
        rodeo.spmm(graph, x, out=np.zeros((N, 8)))


def test_results_are_writable_and_their_own(graph):
    x = random(N, 8)
    y, again = rodeo.spmm(graph, x), rodeo.spmm(graph, x)
    y += 1
    assert (again != y).all() and y.flags.writeable


@pytest.mark.parametrize("call, text", [
    (lambda g, x: rodeo.spmm(g, x[:, ::2]), "x must be contiguous"),
    (lambda g, x: rodeo.spmm(g, x.T), "x must be contiguous"),
    (lambda g, x: rodeo.spmm(g, x[:3]), r"x must be \[60, n\], got \[3, 8\]"),
    (lambda g, x: rodeo.spmm(g, x.astype("int32")), "x must be floating point"),
    (lambda g, x: rodeo.spmm(g, x.astype("complex64")), "x must be float64"),
    (lambda g, x: rodeo.spmm(g, x.astype(">f4")), ""),
    (lambda g, x: rodeo.spmm(g, "text"), "array with DLPack"),
    (lambda g, x: rodeo.spmm(g, None), ""),
    (lambda g, x: rodeo.spmm(g, x, x[:, 0].astype("float64")), "weight"),
    (lambda g, x: rodeo.spmm(g, x, reduce="median"), "sum, mean, max"),
    (lambda g, x: rodeo.spmm(g, x, algorithm="magic"), "algorithm"),
    (lambda g, x: rodeo.spmm(g, np.zeros((60, 1, 1, 1, 1))), "dimensions"),
    (lambda g, x: rodeo.sddmm(g, x, x, op="xor"), "dot, add or mul"),
    (lambda g, x: rodeo.edge_softmax(g, x), "edge_softmax"),
    (lambda g, x: g.permute(x), r"\[400, ...\]"),
    (lambda g, x: rodeo.segment_sum(x, np.array([0, 70])), "offsets"),
    (lambda g, x: rodeo.segment_sum(x, np.array([0, 40, 30, 60])), "offsets"),
    (lambda g, x: rodeo.gat_attention(g, x, x, x.reshape(60, 8, 1), dropout=0.5), "seed"),
    (lambda g, x: rodeo.gat_attention(g, x, x, x.reshape(60, 8, 1), dropout=1.5, seed=np.array([1])), "dropout"),
    (lambda g, x: rodeo.gcn_norm(g, dtype="int8"), "dtype"),
    (lambda g, x: rodeo.Graph.from_edge_index(np.array([[0], [9]]), 5), "outside"),
    (lambda g, x: rodeo.Graph.from_edge_index(np.array([[-1], [0]]), 5), "outside"),
    (lambda g, x: rodeo.Graph.from_edge_index(np.zeros((2, 3))), "int64 or int32"),
    (lambda g, x: rodeo.Graph.from_edge_index(np.zeros((3, 2), "int64")), r"\[2, edges\]"),
    (lambda g, x: rodeo.Graph.from_edge_index(np.zeros((2, 1), "int64"), -1), ""),
    (lambda g, x: rodeo.Graph.from_edge_index(np.zeros((2, 1), "int64"), 2, self_loops="maybe"), "keep, drop or add"),
    (lambda g, x: rodeo.Graph.from_csr(np.array([0, 5]), np.array([0])), "row_ptr"),
    (lambda g, x: rodeo.Graph.from_csr(np.array([], "int64"), np.array([0])), "indptr"),
    (lambda g, x: rodeo.Graph.load("/nowhere/x.h5"), "x.h5"),
    (lambda g, x: g.to("cuda:99"), "cuda"),
    (lambda g, x: g.to("tpu"), "tpu"),
])
def test_errors_say_what_was_wrong(graph, call, text):
    with pytest.raises((ValueError, TypeError, BufferError), match=text or None):
        call(graph, random(N, 8))


def test_arguments_of_any_kind_never_crash(graph):
    random_ = np.random.default_rng(7)
    things = [None, 3, "x", [], np.zeros(()), np.zeros(0), np.zeros((60, 0)), np.zeros((0, 60)), np.zeros(60),
              np.zeros((60, 2)), np.zeros((60, 2, 2)), np.zeros((400, 2)), np.zeros(400), np.zeros(400, "int64"), np.zeros((60, 2), "float16"),
              np.zeros((60, 4))[:, ::2], np.broadcast_to(np.float32(1), (60, 3)), graph]
    calls = [rodeo.spmm, rodeo.sddmm, rodeo.edge_softmax, rodeo.edge_sum, rodeo.gat_attention]
    for _ in range(3000):
        call = calls[random_.integers(len(calls))]
        picked = [things[k] for k in random_.integers(0, len(things), random_.integers(1, 4))]
        try:
            call(graph, *picked)
        except (ValueError, TypeError, BufferError, AttributeError, MemoryError):
            pass


def test_too_much_memory_is_a_memory_error():
    tall = rodeo.Graph.from_edge_index(np.array([[0], [2**22 - 1]]), 2**22, num_sources=1)
    with pytest.raises(MemoryError):  # 1 PiB: more than there are addresses, for systems that promise any memory
        rodeo.spmm(tall, np.zeros((1, 2**26), "float32"))
    assert rodeo.spmm(tall, np.ones((1, 1)))[-1] == 1


def test_memory_outlives_what_made_it(edge_index):
    graph = rodeo.Graph.from_edge_index(edge_index, N)
    indices = graph.indices
    y = rodeo.spmm(graph, random(N, 4))
    expected = y.copy(), indices.copy()
    del graph
    gc.collect()
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


def test_references_are_given_back(graph):
    x = random(N, 4)
    rodeo.spmm(graph, x)
    before = sys.getrefcount(x)
    for _ in range(50):
        rodeo.spmm(graph, x)
        with pytest.raises(ValueError):
            rodeo.spmm(graph, x, reduce="none")
    assert sys.getrefcount(x) == before


def test_threads_share_a_graph(edge_index):
    graph = rodeo.Graph.from_edge_index(edge_index, N)
    x = random(N, 16)
    expected = rodeo.spmm(rodeo.Graph.from_edge_index(edge_index, N), x)
    wrong = []

    def work():
        for _ in range(50):
            if (rodeo.spmm(graph, x) != expected).any() or rodeo.spmm(graph.T, x).shape != (N, 16):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_of_jax(edge_index):
    jnp = pytest.importorskip("jax.numpy")
    graph = rodeo.Graph.from_edge_index(jnp.array(edge_index), N)
    x, weight = random(N, 4), random(edge_index.shape[1])
    y = rodeo.spmm(graph, jnp.array(x), graph.permute(jnp.array(weight)))
    assert type(y) is type(jnp.zeros(1))
    np.testing.assert_allclose(y, dense_matrix(edge_index, weight, N, N) @ x, atol=1e-5)
    assert rodeo.spmm(graph.T, jnp.ones((N, 2), jnp.bfloat16)).dtype == jnp.bfloat16


def test_the_package_is_described():
    info = rodeo.build_info()
    assert info["version"] == rodeo.__version__
    assert rodeo.num_threads() >= 1
    for name in rodeo.__all__:
        assert name.startswith("__") or getattr(rodeo, name).__doc__
