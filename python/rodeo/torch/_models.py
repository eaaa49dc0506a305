"""PyG's models GCN, GraphSAGE, GIN, GAT and PNA, made of rodeo's layers: PyG's constructors, forward, norms and state_dict."""
import copy
import functools

NAMES = "GCN", "GraphSAGE", "GIN", "GAT", "PNA"


def _convolution(model, layers, theirs, in_channels, out_channels, kwargs):
    """Our layer in place of PyG's."""
    kwargs = dict(kwargs)
    if model == "GIN":
        return layers.GINConv(copy.deepcopy(theirs.nn), **kwargs)
    if model != "GAT":
        return {"GCN": layers.GCNConv, "GraphSAGE": layers.SAGEConv, "PNA": layers.PNAConv}[model](in_channels, out_channels, **kwargs)
    layer = layers.GATv2Conv if kwargs.pop("v2", False) else layers.GATConv
    kwargs.update(heads=theirs.heads, concat=theirs.concat, dropout=theirs.dropout)
    return layer(in_channels, theirs.out_channels, **kwargs)


@functools.lru_cache(maxsize=None)
def model(name, layers):
    """The class of this name, a subclass of PyG's. `layers` is the module rodeo.torch.nn."""
    try:
        from torch_geometric.nn import models
    except ImportError as error:
        raise ImportError(f"rodeo.torch.nn.{name} is torch_geometric's model of rodeo's layers: pip install torch_geometric") from error
    import torch

    base = getattr(models, name)

    def init_conv(self, in_channels, out_channels, **kwargs):
        theirs = base.init_conv(self, in_channels, out_channels, **kwargs)
        with torch.random.fork_rng(devices=[]):  # a seed gives the weights that it gives in PyG
            mine = _convolution(name, layers, theirs, in_channels, out_channels, kwargs)
        if not any(torch.nn.parameter.is_lazy(p) for p in theirs.parameters()):
            mine.load_state_dict(theirs.state_dict())
        return mine

    return type(name, (base,), {"init_conv": init_conv, "__module__": layers.__name__, "__doc__": f"torch_geometric.nn.{name}."})
