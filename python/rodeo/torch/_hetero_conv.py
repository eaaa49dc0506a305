"""HeteroConv, which rodeo.torch.nn shows."""
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple

import torch
from torch import Tensor, nn

Relation = Tuple[str, str, str]
_AGGREGATIONS = "sum", "mean", "min", "max", "cat", None


class _Relations(nn.ModuleDict):
    """Modules by relation, under PyG's names: <source___name___target>."""

    def __init__(self, convs: Mapping[Relation, nn.Module]) -> None:
        self.relations = {relation: f"<{'___'.join(relation)}>".replace(".", "#") for relation in convs}
        super().__init__({self.relations[relation]: conv for relation, conv in convs.items()})

    def __getitem__(self, key: Any) -> nn.Module:
        return super().__getitem__(self.relations.get(key, key))

    def keys(self) -> Any:
        return self.relations.keys()

    def items(self) -> Any:
        return zip(self.relations, self.values())


class HeteroConv(nn.Module):
    """torch_geometric.nn.HeteroConv. forward({type: x}, {(source, name, target): edge_index}) gives {type: y}: each relation's own
    layer, of these or of PyG, and their `aggr` (sum, mean, min, max, cat; None stacks them) at each target type.

    Further arguments of the layers are dicts of relations or types, by names such as edge_attr_dict=. With GATConv it is MLPerf's R-GAT.
    """

    def __init__(self, convs: Mapping[Relation, nn.Module], aggr: Optional[str] = "sum") -> None:
        super().__init__()
        if aggr not in _AGGREGATIONS:
            raise ValueError(f"HeteroConv: aggr must be sum, mean, min, max, cat or None, got {aggr!r}")
        for relation, conv in convs.items():
            if not isinstance(relation, tuple) or len(relation) != 3:
                raise ValueError(f"HeteroConv: a relation is (source type, name, target type), got {relation!r}")
            if relation[0] != relation[2] and getattr(conv, "add_self_loops", None) is True:
                raise ValueError(f"HeteroConv: {conv} of {relation} would add self loops between two types: give add_self_loops=False")
        ends = {relation[0] for relation in convs}, {relation[2] for relation in convs}
        if ends[0] - ends[1]:
            warnings.warn(f"HeteroConv: no relation leads to {', '.join(sorted(ends[0] - ends[1]))}: the result has no such type",
                          stacklevel=2)
        self.convs, self.aggr = _Relations(convs), aggr

    def reset_parameters(self) -> None:
        for conv in self.convs.values():
            conv.reset_parameters()  # type: ignore[operator]

    def forward(self, *args_dict: Mapping[Any, Any], **kwargs_dict: Mapping[Any, Any]) -> Dict[str, Tensor]:
        for name in kwargs_dict:
            if not name.endswith("_dict"):
                raise ValueError(f"HeteroConv: names of arguments end with _dict, got {name!r}")
        results: Dict[str, List[Tensor]] = {}
        for relation, conv in self.convs.items():
            if any(relation in values for values in (*args_dict, *kwargs_dict.values())):
                args = [found for values in args_dict for found in _of(relation, values)]
                kwargs = {name[:-len("_dict")]: found for name, values in kwargs_dict.items() for found in _of(relation, values)}
                results.setdefault(relation[2], []).append(conv(*args, **kwargs))
        return {kind: self._together(parts) for kind, parts in results.items()}

    if TYPE_CHECKING:
        __call__ = forward

    def _together(self, parts):
        if self.aggr is None:
            return torch.stack(parts, 1)
        if len(parts) == 1:
            return parts[0]
        if self.aggr == "cat":
            return torch.cat(parts, -1)
        together = getattr(torch, self.aggr)(torch.stack(parts), 0)
        return together if isinstance(together, Tensor) else together.values

    def __repr__(self) -> str:
        return f"HeteroConv(num_relations={len(self.convs)})"


def _of(relation, values):
    """What a layer gets of one argument: [value], or nothing."""
    source, _, target = relation
    if relation in values:
        return [values[relation]]
    if source == target:
        return [values[source]] if source in values else []
    return [(values.get(source), values.get(target))] if source in values or target in values else []
