"""rodeo.NeighborLoader: which nodes and edges its batches have, and what layers of PyG and of rodeo compute from them."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")

import rodeo  # noqa: E402
import rodeo.torch.nn as ours  # noqa: E402
from conftest import make_edges  # noqa: E402

N, E = 60, 500


def dataset():
    edges, random = make_edges(N, E), np.random.default_rng(1)
    return rodeo.Dataset(edges, random.standard_normal((N, 6)), random.integers(0, 3, N), train_mask=np.arange(0, N, 2),
                         edge_attr=np.arange(E).reshape(-1, 1), num_nodes=N)


def pyg_data(device="cpu"):
    pyg = pytest.importorskip("torch_geometric.data")
    arrays = dataset().arrays()
    edges = torch.tensor(np.stack([arrays["src"], arrays["dst"]])).long()
    return pyg.Data(x=torch.tensor(arrays["x"]), y=torch.tensor(arrays["y"]), edge_index=edges, name="small", graph_value=torch.ones(1, 7),
                    edge_attr=torch.arange(E).view(-1, 1), train_mask=torch.arange(N) % 2 == 0).to(device)


def test_batches_are_parts_of_the_graph(device):
    data = pyg_data(device)
    loader = rodeo.NeighborLoader(data, [4, 2], data.train_mask, batch_size=7)
    assert len(loader) == 5
    degree = torch.bincount(data.edge_index[1], minlength=N)
    seen = []
    for batch in loader:
        assert type(batch) is type(data) and batch.name == "small" and batch.graph_value.shape == (1, 7)
        seen += batch.n_id[:batch.batch_size].tolist()
        assert batch.n_id.unique().numel() == batch.n_id.numel() == batch.num_nodes == sum(batch.num_sampled_nodes)
        assert torch.equal(batch.x, data.x[batch.n_id]) and torch.equal(batch.y, data.y[batch.n_id])
        assert torch.equal(batch.train_mask, data.train_mask[batch.n_id])
        assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])
        assert torch.equal(batch.edge_attr[:, 0], batch.e_id) and batch.e_id.unique().numel() == batch.e_id.numel()
        assert torch.equal(data.train_mask.nonzero().squeeze(1)[batch.input_id], batch.n_id[:batch.batch_size])
        # Each node of a hop has its fan-out, or all edges, and no node of the last hop has any.
        count, bounds = torch.bincount(batch.edge_index[1], minlength=batch.num_nodes), np.cumsum(batch.num_sampled_nodes)
        for hop, (fanout, begin, end) in enumerate(zip([4, 2], [0, *bounds], bounds)):
            assert torch.equal(count[begin:end], degree[batch.n_id[begin:end]].clamp(max=fanout))
            assert int(count[begin:end].sum()) == batch.num_sampled_edges[hop]
        assert not count[bounds[1]:].any()
    assert seen == list(range(0, N, 2))


def test_a_seed_names_the_batches():
    def samples(seed=3, **more):
        loader = rodeo.NeighborLoader(dataset(), [3, 3], batch_size=8, shuffle=True, seed=seed, **more)
        return [[(batch.n_id.tolist(), batch.e_id.tolist()) for batch in loader] for _ in range(2)]

    first = samples()
    assert first == samples() and first != samples(seed=4) and first[0] != first[1]
    for epoch in first:
        assert sorted(sum((nodes[:8] if i < 7 else nodes[:4] for i, (nodes, _) in enumerate(epoch)), [])) == list(range(N))
    assert [len(epoch) for epoch in samples(drop_last=True)] == [7, 7]


@pytest.mark.parametrize("package", ["rodeo", "pyg"])
def test_whole_neighbourhoods_give_the_whole_graph_s_outputs(package, device):
    nn = ours if package == "rodeo" else pytest.importorskip("torch_geometric.nn")
    data = pyg_data(device)
    torch.manual_seed(0)
    layers = torch.nn.ModuleList([nn.SAGEConv(6, 8), nn.SAGEConv(8, 3, aggr="max")]).to(device)

    def model(x, edge_index):
        return layers[1](layers[0](x, edge_index).relu(), edge_index)

    expected = model(data.x, data.edge_index)
    ids = torch.tensor([7, 3, 59, 11])
    for batch in rodeo.NeighborLoader(data, [-1, -1], ids, batch_size=3):
        y = model(batch.x, batch.edge_index)[:batch.batch_size]
        torch.testing.assert_close(y, expected[ids[batch.input_id.cpu()].to(device)], atol=1e-5, rtol=1e-5)


def test_batches_of_a_dataset_train_a_model():
    sparse = pytest.importorskip("scipy.sparse")
    data = dataset()
    loader = rodeo.NeighborLoader(data, num_neighbors=[5], input_nodes=np.arange(0, N, 2), batch_size=10, shuffle=True,
                                  transform=lambda batch: batch.to(torch.device("cpu")))
    torch.manual_seed(0)
    layer = ours.GraphConv(6, 3)
    optimizer, losses = torch.optim.Adam(layer.parameters(), lr=0.05), []
    for _ in range(12):
        for batch in loader:
            assert batch.train_mask[:batch.batch_size].all()
            y = layer(batch.x, batch.edge_index)[:batch.batch_size]
            loss = torch.nn.functional.cross_entropy(y, batch.y[:batch.batch_size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert np.mean(losses[-3:]) < 0.8 * np.mean(losses[:3])
    again = rodeo.Dataset(make_edges(N, E), sparse.csr_matrix(data.arrays()["x"]))
    batch = next(iter(rodeo.NeighborLoader(again, [2], replace=True)))
    np.testing.assert_array_equal(batch.x, data.arrays()["x"][batch.n_id])


def test_what_a_loader_refuses():
    data = dataset()
    for arguments, error, text in (
            (dict(num_neighbors=[]), ValueError, "num_neighbors must be"), (dict(num_neighbors=[0]), ValueError, "num_neighbors must be"),
            (dict(num_neighbors={("a", "to", "b"): [2]}), ValueError, "several node types"),
            (dict(num_neighbors=[-1], replace=True), ValueError, "without replacement"),
            (dict(num_neighbors=[2], batch_size=0), ValueError, "batch_size must be"),
            (dict(num_neighbors=[2], input_nodes=[1, 1]), ValueError, "2 ids of 1"),
            (dict(num_neighbors=[2], input_nodes=[N]), ValueError, "outside"),
            (dict(num_neighbors=[2], num_workers=4), TypeError, "no argument num_workers: batches are sampled by"),
            (dict(num_neighbors=[2], data="cora"), ValueError, "must be a Data of PyTorch Geometric")):
        with pytest.raises(error, match=text):
            rodeo.NeighborLoader(**{"data": data, **arguments})
