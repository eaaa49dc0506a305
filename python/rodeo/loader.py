"""rodeo.NeighborLoader: mini-batches of sampled neighbourhoods for layers of PyTorch."""
import types
from typing import Any, Callable, Iterator, Optional, Sequence

from . import _core
from ._convert import _edges
from .dataset import Dataset, _host, _ids, _is_mask_of_numbers
from .graph import Graph


class Batch(types.SimpleNamespace):
    """What a NeighborLoader of a rodeo.Dataset yields: the attributes that PyG's batches have."""

    def to(self, device: Any) -> "Batch":
        """A copy with its tensors on another device."""
        return Batch(**{name: value.to(device) if hasattr(value, "to") else value for name, value in vars(self).items()})


class NeighborLoader:
    """Batches of nodes with sampled in-neighbours, as torch_geometric.loader.NeighborLoader makes them, without torch_sparse.

        for batch in rodeo.NeighborLoader(data, num_neighbors=[15, 10], input_nodes=data.train_mask, batch_size=1024, shuffle=True):
            loss = cross_entropy(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size])

    data           a Data of PyG, whose batches are of its class, or a rodeo.Dataset, whose batches are plain objects
    num_neighbors  in-neighbours that are drawn of each node, hop by hop; -1: all. Nodes of earlier hops are not drawn for again
    input_nodes    a mask or different ids, default all; replace: draw with replacement
    seed           batches are a function of (seed, epoch, number of the batch), on any device and for any number of threads. An
                   epoch is one pass over the loader: its attribute `epoch` counts them
    device         where edges are sampled and batches are, default that of data's edges
    transform      called with each batch; what it returns is yielded

    A batch has the node arrays of its nodes n_id, whose first batch_size are the targets; edge_index in their numbers, and edge
    arrays of its edges e_id; input_id, num_sampled_nodes and num_sampled_edges of each hop. Use it from one thread at a time.
    """

    def __init__(self, data: Any, num_neighbors: Sequence[int], input_nodes: Any = None, replace: bool = False, *,
                 batch_size: int = 1, shuffle: bool = False, drop_last: bool = False, seed: int = 0, device: Any = None,
                 transform: Optional[Callable[[Any], Any]] = None, **rest: Any) -> None:
        try:
            import torch
        except ImportError as error:
            raise ImportError("rodeo.NeighborLoader makes tensors of PyTorch: pip install torch") from error
        if rest:
            why = ": batches are sampled by this library's threads, or on the GPU" if "num_workers" in rest else ""
            raise TypeError(f"[neighbor_loader] there is no argument {next(iter(rest))}{why}")
        if hasattr(num_neighbors, "keys") or hasattr(data, "node_types"):
            raise ValueError("[neighbor_loader] graphs of several node types are not supported: use data.to_homogeneous()")
        self.num_neighbors = [int(fanout) for fanout in num_neighbors]
        if not self.num_neighbors or any(f < -1 or f == 0 or (f < 0 and replace) for f in self.num_neighbors):
            raise ValueError("[neighbor_loader] num_neighbors must be a positive number for each hop, or -1 for all without replacement, "
                             f"got {list(num_neighbors)}")
        if batch_size < 1 or seed < 0:
            raise ValueError(f"[neighbor_loader] batch_size must be at least 1 and seed at least 0, got {batch_size} and {seed}")
        self.batch_size, self.shuffle, self.drop_last, self.replace = batch_size, shuffle, drop_last, replace
        self.seed, self.transform, self.epoch = seed, transform, 0
        edge_index, self._nodes, self._node_arrays, self._edge_arrays, self._others, self._make = _parts(data)
        self.device = torch.device(edge_index.device if device is None else device)
        self._graph = Graph.from_edge_index(edge_index.to(self.device), self._nodes)
        self._sampler = _core.NeighborSampler(self._graph._core)
        self._place = torch.full((self._nodes,), -1, device=self.device)  # of a node in the batch that is made
        self.input_nodes = torch.arange(self._nodes) if input_nodes is None else _nodes_of(input_nodes, self._nodes)

    def __len__(self) -> int:
        count = len(self.input_nodes)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        import torch
        epoch, self.epoch = self.epoch, self.epoch + 1
        count = len(self.input_nodes)
        order = torch.arange(count)
        if self.shuffle:
            order = torch.randperm(count, generator=torch.Generator().manual_seed((self.seed << 24) + epoch))
        for number in range(len(self)):
            yield self._batch(order[number * self.batch_size:(number + 1) * self.batch_size], epoch, number)

    def _batch(self, chosen, epoch, number):
        import torch
        targets = self.input_nodes[chosen].to(self.device)
        nodes, edge_index, edges, node_counts, edge_counts = self._sample(targets, epoch, number)
        if self._graph.edge_ids is not None:
            edges = self._graph.edge_ids[edges]
        batch = self._make()
        for name, values in self._others.items():
            setattr(batch, name, values)
        for arrays, ids in (self._node_arrays, nodes), (self._edge_arrays, edges):
            for name, values in arrays.items():
                setattr(batch, name, values[ids.to(values.device)].to(self.device))
        for name, value in {"edge_index": edge_index, "n_id": nodes, "e_id": edges, "input_id": chosen.to(self.device),
                            "batch_size": len(chosen), "num_nodes": len(nodes), "num_sampled_nodes": node_counts,
                            "num_sampled_edges": edge_counts}.items():
            setattr(batch, name, value)
        return batch if self.transform is None else self.transform(batch)

    def _sample(self, targets, epoch, number):
        """(nodes, edge_index, edges of the graph, new nodes of each hop, edges of each hop). Nodes of a hop follow one another."""
        import torch
        place, frontier, count = self._place, targets, len(targets)
        nodes, sources, ends, edges = [targets], [], [], []
        place[targets] = torch.arange(count, device=self.device)
        for hop, fanout in enumerate(self.num_neighbors):
            indptr, col, edge, found = self._sampler.sample(frontier, fanout, self.replace, self.seed, epoch, number, hop)
            new = found[len(frontier):]
            new = new[place[new] < 0]
            place[new] = torch.arange(count, count + len(new), device=self.device)
            own = torch.arange(count - len(frontier), count, device=self.device)
            ends.append(own.repeat_interleave(indptr.diff(), output_size=len(col)))
            sources.append(place[found][col.long()])
            edges.append(edge)
            nodes.append(new)
            frontier, count = new, count + len(new)
        together = torch.cat(nodes)
        place[together] = -1
        return (together, torch.stack([torch.cat(sources), torch.cat(ends)]), torch.cat(edges), [len(n) for n in nodes],
                [len(e) for e in edges])


def _nodes_of(given, nodes):
    """Different ids in the order that they are given in, or those of a mask."""
    import torch
    given = _host(given)
    ids = _ids("input_nodes", given, nodes)
    if given.dtype != bool and not _is_mask_of_numbers(given, nodes):
        if len(ids) < len(given):
            raise ValueError(f"[neighbor_loader] input_nodes must be different nodes, got {len(given)} ids of {len(ids)}")
        ids = given
    return torch.from_numpy(ids.astype("int64"))


def _parts(data):
    """(edge_index, number of nodes, arrays of nodes, of edges, what each batch gets as it is, a function that makes a batch)."""
    import torch
    if isinstance(data, Dataset):
        arrays = {name: torch.from_numpy(array.copy()) for name, array in data.arrays().items()}  # those of the dataset are read-only
        nodes = {name: arrays[name] for name in ("x", "y") if name in arrays}
        if "x_indptr" in arrays:
            rows = torch.arange(data.num_nodes).repeat_interleave(arrays["x_indptr"].diff())
            nodes["x"] = torch.zeros(data.num_nodes, data.num_features)
            nodes["x"][rows, arrays["x_indices"].long()] = arrays["x_data"]
        for part in "train", "val", "test":
            if part in arrays:
                nodes[f"{part}_mask"] = torch.zeros(data.num_nodes, dtype=torch.bool)
                nodes[f"{part}_mask"][arrays[part]] = True
        edges = {name: arrays[name] for name in ("edge_weight", "edge_attr") if name in arrays}
        return torch.stack([arrays["src"], arrays["dst"]]).long(), data.num_nodes, nodes, edges, {}, Batch
    if not hasattr(data, "is_node_attr"):
        raise ValueError(f"[neighbor_loader] data must be a Data of PyTorch Geometric or a rodeo.Dataset, got {type(data).__name__}")
    edge_index = data.edge_index if data.edge_index is not None else torch.from_numpy(_edges(data))
    values = {name: value for name, value in data.to_dict().items() if name not in ("edge_index", "adj_t", "num_nodes")}
    nodes = {name: value for name, value in values.items() if torch.is_tensor(value) and data.is_node_attr(name)}
    edges = {name: value for name, value in values.items() if torch.is_tensor(value) and data.is_edge_attr(name)}
    others = {name: value for name, value in values.items() if name not in nodes and name not in edges}
    return edge_index, data.num_nodes, nodes, edges, others, type(data)
