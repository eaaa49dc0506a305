"""Several threads and CUDA streams on one Graph, without waits of the user: docs/python.md says what is safe."""
import gc
import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch as rt  # noqa: E402
from conftest import cuda_absence, make_edges  # noqa: E402

pytestmark = pytest.mark.skipif(bool(cuda_absence()), reason=cuda_absence() or "has CUDA")
NODES, EDGES, HEADS, WIDTH = 20000, 400000, 4, 16
DELAY = 300_000_000  # clock cycles: a tenth of a second or more, in which the host queues everything else


def edges_with_hubs():
    """Random edges, and a node with 20,000 of them: rows of all lengths, so that plans are not trivial."""
    edges = make_edges(NODES, EDGES)
    hub = np.stack([np.arange(NODES), np.full(NODES, 7)])
    return torch.tensor(np.concatenate([edges, hub], axis=1))


class Operands:
    """Complete before any other stream reads them."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)

        def draw(*shape):
            return torch.randn(*shape, generator=generator).cuda()

        edges = EDGES + NODES
        self.x, self.heads = draw(NODES, HEADS * WIDTH), draw(NODES, HEADS, WIDTH)
        self.s, self.t, self.weight, self.scores = draw(NODES, HEADS), draw(NODES, HEADS), draw(edges), draw(edges, HEADS)
        torch.cuda.synchronize()


def transposed(graph, at):
    """The gradient of a product with weights: it makes the transpose and its plans."""
    x = at.x.detach().requires_grad_()
    rt.spmm(graph, x, at.weight, algorithm="rode").backward(at.x)
    return x.grad


# The algorithm is named: auto may time its candidates, and decide differently for two graphs.
CALLS = {
    "spmm": lambda graph, at: rodeo.spmm(graph, at.x, algorithm="rode"),
    "spmm csr": lambda graph, at: rodeo.spmm(graph, at.x, at.weight, algorithm="csr"),
    "spmm cusparse": lambda graph, at: rodeo.spmm(graph, at.x, at.weight, algorithm="cusparse"),
    "spmm mean": lambda graph, at: rodeo.spmm(graph, at.x, reduce="mean", algorithm="rode"),
    "spmm max": lambda graph, at: rodeo.spmm(graph, at.x, reduce="max"),
    "sddmm": lambda graph, at: rodeo.sddmm(graph, at.x, at.x, weight=at.weight),
    "edge_softmax": lambda graph, at: rodeo.edge_softmax(graph, at.scores),
    "gat_attention": lambda graph, at: rodeo.gat_attention(graph, at.s, at.t, at.heads),
    "gradient": transposed,
    "gcn": lambda graph, at: torch.ops.rodeo.gcn(graph._id, False, at.x, False),
    "one loop": lambda graph, at: torch.ops.rodeo.gat_attention_only(graph._id, True, at.s, at.t, at.heads, 0.2, 0.0, None),
}
MADE = {"framework": lambda edges: rodeo.Graph.from_edge_index(edges.cuda(), NODES),
        "library": lambda edges: rodeo.Graph.from_edge_index(edges, NODES).to("cuda")}


@pytest.fixture(scope="module")
def operands():
    return Operands()


@pytest.fixture(scope="module")
def expected(operands):
    """The results of a graph of its own for each call, on one stream."""
    results = {}
    for name, call in CALLS.items():
        results[name] = call(MADE["framework"](edges_with_hubs()), operands).clone()
        torch.cuda.synchronize()
    return results


def check(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", CALLS)
def test_plans_of_one_stream_are_used_on_another(name, made, operands, expected):
    """The first call is queued behind a delay on its stream: what it caches on the graph is not computed yet."""
    graph = MADE[made](edges_with_hubs())
    torch.cuda.synchronize()
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        torch.cuda._sleep(DELAY)
        one = CALLS[name](graph, operands)
    with torch.cuda.stream(second):
        two = CALLS[name](graph, operands)
    three = CALLS[name](graph, operands)
    torch.cuda.synchronize()
    for result in one, two, three:
        check(result, expected[name])


@pytest.mark.parametrize("names", [["spmm", "sddmm", "gat_attention"], ["spmm csr", "gradient", "edge_softmax"], list(CALLS)])
def test_threads_take_turns_on_their_own_streams(names, operands, expected):
    """One thread at a time uses the graph, by a lock on the host; nobody waits for another one's stream."""
    graph = MADE["framework"](edges_with_hubs())
    torch.cuda.synchronize()
    turn, results, errors, count = threading.Lock(), [], [], 4
    begin = threading.Barrier(count)

    def work(index):
        try:
            stream = torch.cuda.Stream()
            begin.wait(timeout=60)
            for i in range(3 * len(names)):
                name = names[(i + index) % len(names)]
                with turn, torch.cuda.stream(stream):
                    if i % len(names) == 0:
                        torch.cuda._sleep(DELAY // 10)
                    results.append((name, CALLS[name](graph, operands)))
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert not errors and len(results) == 3 * len(names) * count
    for name, result in results:
        check(result, expected[name])


def test_threads_use_graphs_of_their_own(operands, expected):
    """Without any lock: graphs, plans and workspaces of threads are apart."""
    errors, results = [], []

    def work(index):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for name in list(CALLS)[index:] + list(CALLS)[:index]:
                    graph = MADE["framework"](edges_with_hubs())
                    results.append((name, CALLS[name](graph, operands)))
                torch.cuda.current_stream().synchronize()
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors and len(results) == 3 * len(CALLS)
    for name, result in results:
        check(result, expected[name])


def overwrite_freed_memory(edges):
    """Fills freed memory of PyTorch's pool and of the library's with zeros and with another graph: the ids stay in range."""
    kept = []
    for power in range(28, 8, -1):  # the largest first: a small one would cut a large free block
        for _ in range(64):
            before = torch.cuda.memory_reserved()
            kept.append(torch.zeros(2**power, dtype=torch.uint8, device="cuda"))
            if torch.cuda.memory_reserved() > before:
                break
    other = rodeo.Graph.from_edge_index(edges.flip(0), NODES)
    kept += [other.to("cuda") for _ in range(3)]
    return kept


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("first_use", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_graphs_may_be_dropped_after_a_call(name, first_use, made, operands, expected):
    """The last reference goes while the kernel of another stream waits to run; the stream of the graph reuses its memory."""
    edges = edges_with_hubs()
    graph = MADE[made](edges)
    if not first_use:  # plans are made on this stream
        CALLS[name](graph, operands)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(5 * DELAY)
        result = CALLS[name](graph, operands)
    del graph
    gc.collect()
    kept = overwrite_freed_memory(edges)
    torch.cuda.synchronize()
    assert kept
    check(result, expected[name])


def test_graphs_of_an_edge_index_may_be_dropped(operands, expected):
    """Graphs of edge_index tensors are dropped when 32 newer ones are known: their user does not even see it."""
    edges = edges_with_hubs()
    index = edges.cuda()
    call = CALLS["gat_attention"]
    call(rt.graph_of(index, NODES), operands)
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(5 * DELAY)
        result = call(rt.graph_of(index, NODES), operands)
    del index
    small = [torch.zeros(2, i + 1, dtype=torch.int64, device="cuda") for i in range(40)]
    for tensor in small:
        rt.graph_of(tensor, 1)
    kept = overwrite_freed_memory(edges)
    torch.cuda.synchronize()
    assert kept
    check(result, expected["gat_attention"])


@pytest.mark.parametrize("name", ["spmm", "spmm csr", "spmm mean", "sddmm", "gat_attention", "gradient", "gcn"])
def test_captures_and_streams_take_turns(name, operands, expected):
    """A graph is used on one stream, captured on another, replayed on a third, and used again at once."""
    graph = MADE["framework"](edges_with_hubs())
    torch.cuda.synchronize()
    first, third = torch.cuda.Stream(), torch.cuda.Stream()
    with torch.cuda.stream(first):
        torch.cuda._sleep(DELAY)
        for _ in range(2):  # what a capture may not make
            CALLS[name](graph, operands)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):  # waits for the device, as docs/python.md wants it
        result = CALLS[name](graph, operands)
    with torch.cuda.stream(third):
        captured.replay()
        of_replay = result.clone()
        torch.cuda._sleep(DELAY // 10)
    with torch.cuda.stream(first):
        eager = CALLS[name](graph, operands)
    again = CALLS[name](graph, operands)
    torch.cuda.synchronize()
    for values in of_replay, eager, again:
        check(values, expected[name])
    result.zero_()
    captured.replay()
    torch.cuda.synchronize()
    check(result, expected[name])


def test_a_capture_of_one_graph_while_another_thread_computes(operands, expected):
    """The stream of a plan that a capture reads belongs to another thread, which works on its own graph meanwhile."""
    shared, own = (MADE["framework"](edges_with_hubs()) for _ in range(2))
    for graph in shared, own:
        CALLS["gat_attention"](graph, operands)
    torch.cuda.synchronize()
    stop, errors, stream = threading.Event(), [], torch.cuda.Stream()
    with torch.cuda.stream(stream):
        CALLS["gat_attention"](shared, operands)
    torch.cuda.synchronize()

    def work():
        try:
            with torch.cuda.stream(stream):
                while not stop.is_set():
                    CALLS["gat_attention"](own, operands)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured, capture_error_mode="thread_local"):
            result = CALLS["gat_attention"](shared, operands)
    finally:
        stop.set()
        thread.join()
    assert not errors
    result.zero_()
    captured.replay()
    torch.cuda.synchronize()
    check(result, expected["gat_attention"])
