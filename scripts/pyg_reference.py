#!/usr/bin/env python3
"""Writes the outputs of PyTorch Geometric's layers on a small graph, for the tests of layers and of the trunk.

    python3 -m venv venv && venv/bin/pip install torch torch_geometric numpy
    venv/bin/python scripts/pyg_reference.py > tests/data/pyg_reference.txt

Written for PyG 2.8; runs on the CPU in a second. All values are float64, so that a difference is a difference of
the layers, not of rounding. Each array is one line: name, sizes, a colon, values. A line "case NAME" begins a layer:
its state_dict() (names "state.*"), its output "y", and the state after the call where training changes it ("after.*").
Cases "trunk_*" also have the gradients of sum(y * upstream) by the parameters and by x ("grad.*").
"""
import torch
import torch_geometric
from torch_geometric import nn
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import add_self_loops

from pyg_trunk import Trunk

NODES, IN, OUT = 8, 4, 3
generator = torch.Generator().manual_seed(1)


def random(*sizes):
    return torch.randn(*sizes, generator=generator, dtype=torch.float64)


def emit(name, value):
    sizes = "".join(f" {size}" for size in value.shape)
    print(f"{name}{sizes} :" + "".join(f" {number:.12g}" for number in value.detach().double().flatten().tolist()))


def emit_state(prefix, module):
    for name, value in module.state_dict().items():
        if not name.endswith("avg_deg_lin"):  # of scalers that rodeo's PNA does not have
            emit(f"{prefix}.{name}", value)


def case(name, module, forward, training=False):
    """Fills all parameters with random values first: zero biases would hide errors."""
    module = module.double().train(training)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(random(*parameter.shape))
        print(f"case {name}")
        emit_state("state", module)
        emit("y", forward(module))
        if training:
            emit_state("after", module)


# Every node but 5 has neighbours; no self loops, no repeated edges, directed.
edges = [(source, target) for target in range(NODES) if target != 5
         for source in sorted({(target * 5 + 1) % NODES, (target + 3) % NODES, (target * target + 2) % NODES} - {target})]
edge_index = torch.tensor(edges).t().contiguous()  # row 0: source, row 1: target
weight = random(edge_index.shape[1]).abs() + 0.1
x, other = random(NODES, IN), random(NODES, IN)

print(f"# torch {torch.__version__}, torch_geometric {torch_geometric.__version__}; made by scripts/pyg_reference.py")
print("case graph")
emit("source", edge_index[0])
emit("target", edge_index[1])
emit("weight", weight)
emit("x", x)
emit("other", other)


def plain(layer):
    return layer(x, edge_index)


def weighted(layer):
    return layer(x, edge_index, weight)


case("linear", torch.nn.Linear(IN, OUT), lambda layer: layer(x))
case("gcn", nn.GCNConv(IN, OUT), plain)
case("gcn_weighted", nn.GCNConv(IN, OUT), weighted)
case("gat", nn.GATConv(IN, OUT, heads=2), plain)
case("gat_mean_residual", nn.GATConv(IN, OUT, heads=2, concat=False, residual=True), plain)
case("gatv2", nn.GATv2Conv(IN, OUT, heads=2), plain)
case("sage_mean", nn.SAGEConv(IN, OUT, aggr="mean"), plain)
case("sage_max", nn.SAGEConv(IN, OUT, aggr="max"), plain)
case("sage_sum", nn.SAGEConv(IN, OUT, aggr="sum"), plain)
case("sage_normalize", nn.SAGEConv(IN, OUT, normalize=True, root_weight=False), plain)
case("graph_sum", nn.GraphConv(IN, OUT, aggr="add"), weighted)
case("graph_mean", nn.GraphConv(IN, OUT, aggr="mean"), weighted)
case("graph_max", nn.GraphConv(IN, OUT, aggr="max"), weighted)
perceptron = torch.nn.Sequential(torch.nn.Linear(IN, 5), torch.nn.ReLU(), torch.nn.Linear(5, OUT))
case("gin", nn.GINConv(perceptron, eps=0.3, train_eps=True), plain)
case("sg", nn.SGConv(IN, OUT, K=2), plain)
case("appnp", nn.APPNP(K=3, alpha=0.2), plain)
case("batch_norm", nn.BatchNorm(IN), lambda layer: layer(x), training=True)
case("layer_norm", nn.LayerNorm(IN, mode="node"), lambda layer: layer(x))
case("jumping_cat", nn.JumpingKnowledge("cat"), lambda layer: layer([x, other]))
case("jumping_max", nn.JumpingKnowledge("max"), lambda layer: layer([x, other]))

attr = random(edge_index.shape[1], 2)
batch = torch.tensor([0, 0, 0, 1, 2, 2, 2, 2])
print("case edges")
emit("attr", attr)
case("gatv2_edge", nn.GATv2Conv(IN, OUT, heads=2, edge_dim=2, add_self_loops=False),
     lambda layer: layer(x, edge_index, attr))
second = torch.nn.Sequential(torch.nn.Linear(IN, 5), torch.nn.ReLU(), torch.nn.Linear(5, OUT))
case("gine", nn.GINEConv(second, eps=0.3, train_eps=True, edge_dim=2), lambda layer: layer(x, edge_index, attr))
case("pool_sum", nn.SumAggregation(), lambda layer: layer(x, batch))
case("pool_mean", nn.MeanAggregation(), lambda layer: layer(x, batch))
case("pool_max", nn.MaxAggregation(), lambda layer: layer(x, batch))
case("pool_attention", nn.AttentionalAggregation(torch.nn.Linear(IN, 1)), lambda layer: layer(x, batch))


TRUNKS = [  # each convolution and each part, in a few combinations
    ("gcn", {"norm": "batch", "residual": True, "jk": "cat"}),
    ("gcn", {"norm": "layer", "pre-linear": 2, "jk": "last", "act": "gelu"}),
    ("gat", {"norm": "layer", "residual": True, "post-linear": True, "act": "elu"}),
    ("gat", {"norm": "batch", "out-heads": 3, "pre-linear": 1}),
    ("gatv2", {"residual": True, "jk": "max", "pre-linear": 2, "act": "gelu"}),
    ("sage", {"norm": "layer", "residual": True, "jk": "sum", "act": "elu"}),
    ("sage", {"norm": "batch", "residual": True}),
    ("gin", {"norm": "batch", "post-linear": True}),
    ("gin", {"norm": "layer", "residual": True, "jk": "cat", "act": "gelu"}),
]
looped = (add_self_loops(edge_index, num_nodes=NODES)[0],)
TRUNK_GRAPHS = {"gcn": gcn_norm(edge_index, num_nodes=NODES, dtype=x.dtype), "gat": looped, "gatv2": looped}
upstream = random(NODES, OUT)
print("case trunk")
emit("upstream", upstream)


def trunk_case(number, kind, parts):
    """Without dropout, and in training mode, so that batch normalisation takes the statistics of the nodes."""
    recipe = {"model": kind, "hidden": 3, "layers": 2, "dropout": 0, "heads": 2, "attn-dropout": 0, "act": "relu", **parts}
    module = Trunk(recipe, IN, OUT).double().train()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(random(*parameter.shape))
    print(f"case trunk_{number}_{kind}")
    emit_state("state", module)
    features = x.clone().requires_grad_()
    y = module(features, TRUNK_GRAPHS.get(kind, (edge_index,)))
    (y * upstream).sum().backward()
    emit("y", y)
    for name, value in module.state_dict().items():
        if "running" in name:
            emit(f"after.{name}", value)
    emit("grad.x", features.grad)
    for name, parameter in module.named_parameters():
        emit(f"grad.{name}", parameter.grad)


for number, (kind, parts) in enumerate(TRUNKS):
    trunk_case(number, kind, parts)


def loss_case(name, function):
    """A loss or another function of x, and its gradient for `upstream` (of a loss: 1)."""
    features = x.clone().requires_grad_()
    y = function(features)
    (y if y.dim() == 0 else y * cotangents[: y.numel()].view_as(y)).sum().backward()
    print(f"case {name}")
    emit("y", y.reshape(-1))
    emit("grad.x", features.grad)


F = torch.nn.functional
cotangents = random(NODES * IN)
label, chosen = torch.arange(NODES) * 3 % IN, torch.tensor([0, 2, 3, 5, 6, 7])
class_weight = torch.tensor([0.5, 1, 2, 1.5], dtype=torch.float64)
pairs = torch.tensor([[0, 1, 1, 7, 3, 4], [2, 2, 5, 0, 3, 1]])
print("case losses")
for array, value in ("cotangents", cotangents), ("label", label), ("chosen", chosen), ("class_weight", class_weight), \
        ("pairs", pairs):
    emit(array, value)
loss_case("gelu", F.gelu)
loss_case("cross_entropy", lambda h: F.cross_entropy(h[chosen], label[chosen]))
loss_case("soft_cross_entropy",
          lambda h: F.cross_entropy(h[chosen], label[chosen], weight=class_weight, label_smoothing=0.1))
loss_case("bce", lambda h: F.binary_cross_entropy_with_logits(h[chosen], (other[chosen] > 0).double()))
loss_case("mse", lambda h: F.mse_loss(h[chosen], other[chosen]))
loss_case("l1", lambda h: F.l1_loss(h[chosen], other[chosen]))
loss_case("pair_dot", lambda h: (h[pairs[0]] * h[pairs[1]]).sum(1))  # decode() of PyG's example of link prediction
loss_case("pair_mul", lambda h: h[pairs[0]] * h[pairs[1]])
loss_case("l2_normalize", lambda h: F.normalize(h))
case("transformer", nn.TransformerConv(IN, OUT, heads=2), plain)
case("transformer_beta", nn.TransformerConv(IN, OUT, heads=2, concat=False, beta=True), plain)
case("transformer_edge", nn.TransformerConv(IN, OUT, heads=2, edge_dim=2), lambda layer: layer(x, edge_index, attr))
trunk_case(len(TRUNKS), "transformer", {"norm": "layer", "residual": True, "jk": "cat", "act": "elu"})

case("gcn2", nn.GCN2Conv(IN, alpha=0.2, theta=0.7, layer=3), lambda layer: layer(x, other, edge_index))
histogram = torch.bincount(torch.bincount(edge_index[1], minlength=NODES))
case("pna", nn.PNAConv(IN, OUT, ["mean", "max", "min", "std"], ["identity", "amplification", "attenuation"], histogram), plain)
