"""The trunk of models/trunk.h with the layers of PyTorch Geometric, for the scripts that compare the two."""
import torch
import torch.nn.functional as F
from torch_geometric import nn

ACTIVATIONS = {"relu": F.relu, "elu": F.elu, "gelu": F.gelu}
NORMS = {"none": None, "batch": nn.BatchNorm, "layer": lambda width: nn.LayerNorm(width, mode="node")}


def convolution(kind, n_in, hidden, out, heads, concat, attention_dropout, bias):
    """The graphs are prepared: self loops and the normalisation are in them."""
    if kind in ("gat", "gatv2"):
        layer = nn.GATConv if kind == "gat" else nn.GATv2Conv
        return layer(n_in, out, heads, concat=concat, dropout=attention_dropout, add_self_loops=False,
                     bias=bias)
    if kind == "transformer":
        return nn.TransformerConv(n_in, out, heads, concat=concat, dropout=attention_dropout, bias=bias)
    if kind == "gcn":
        return nn.GCNConv(n_in, out, normalize=False, bias=bias)
    if kind == "sage":
        return nn.SAGEConv(n_in, out, bias=bias)
    return nn.GINConv(torch.nn.Sequential(torch.nn.Linear(n_in, hidden), nn.BatchNorm(hidden), torch.nn.ReLU(),
                                          torch.nn.Linear(hidden, out)))


class Trunk(torch.nn.Module):
    """Pre-linear layers, layers of dropout(act(norm(conv(h) + linear(h)))), and a linear classifier.

    `recipe` has the options of rodeo_train, as recipes/*.json; those that are not there have rodeo_train's defaults.
    """

    def __init__(self, recipe, n_in, classes):
        super().__init__()
        kind, hidden = recipe["model"], recipe["hidden"]
        attention = kind in ("gat", "gatv2", "transformer")
        self.jump = recipe.get("jk", "none")
        if self.jump == "none" and recipe.get("post-linear"):
            self.jump = "last"
        self.act = ACTIVATIONS[recipe.get("act", "elu" if attention else "relu")]
        self.dropout = recipe["dropout"]
        self.input_dropout = recipe.get("input-dropout", self.dropout)
        self.pre, self.pre_norms, self.convs, self.norms, self.lins = (torch.nn.ModuleList() for _ in range(5))
        norm = NORMS[recipe.get("norm", "none")]
        self.pre_norm = recipe.get("pre-linear-norm", False)
        for _ in range(recipe.get("pre-linear", 0)):
            self.pre.append(torch.nn.Linear(n_in, hidden))
            if self.pre_norm:
                self.pre_norms.append(norm(hidden))
            n_in = hidden
        widths = 0
        for i in range(recipe["layers"]):
            logits = self.jump == "none" and i + 1 == recipe["layers"]
            out = classes if logits else hidden
            heads = (recipe.get("out-heads", 1) if logits else recipe.get("heads", 8)) if attention else 1
            self.convs.append(convolution(kind, n_in, hidden, out, heads, not logits, recipe.get("attn-dropout", 0.6),
                                          not recipe.get("no-bias", False)))
            width = out if logits else out * heads
            if norm and not logits:
                self.norms.append(norm(width))
            if recipe.get("residual"):
                self.lins.append(torch.nn.Linear(n_in, width))
            n_in = width
            widths += width
        if self.jump != "none":
            self.lin = torch.nn.Linear(widths if self.jump == "cat" else n_in, classes)

    def drop(self, h):
        return F.dropout(h, self.dropout, self.training)

    def forward(self, x, graph):
        """graph: the arguments of the convolutions after the features."""
        h = F.dropout(x, self.input_dropout, self.training)
        for i, pre in enumerate(self.pre):
            h = self.pre_norms[i](pre(h)) if self.pre_norm else pre(h)
            h = self.drop(self.act(h) if self.pre_norm or i + 1 < len(self.pre) else h)
        outputs = []
        for i, conv in enumerate(self.convs):
            y = conv(h, *graph)
            if self.lins:
                y = y + self.lins[i](h)
            if self.jump == "none" and i + 1 == len(self.convs):
                return y
            if self.norms:
                y = self.norms[i](y)
            h = self.drop(self.act(y))
            outputs.append(h)
        if self.jump in ("cat", "max"):
            h = nn.JumpingKnowledge(self.jump)(outputs)
        elif self.jump == "sum":
            h = sum(outputs)
        return self.lin(h)
