#!/usr/bin/env python3
"""A layer of one's own on the operators: gated message passing, where each edge has a gate for each column.

    y[i] = sum over the edges j -> i of sigmoid(P x[i] + Q x[j]) * (V x[j])

sddmm computes a row for each edge from its two ends, edge_sum adds the rows of each target. Gradients are checked
against differences, as for any operator of PyTorch.
"""
import torch

import rodeo
import rodeo.torch as rt


class GatedConv(torch.nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.gate_target = torch.nn.Linear(inputs, outputs)
        self.gate_source = torch.nn.Linear(inputs, outputs, bias=False)
        self.value = torch.nn.Linear(inputs, outputs, bias=False)

    def forward(self, x, graph):
        gate = torch.sigmoid(rt.sddmm(graph, self.gate_target(x), self.gate_source(x), op="add"))  # [edges, outputs]
        value = self.value(x)
        message = gate * rt.sddmm(graph, torch.zeros_like(value), value, op="add")  # the value of each edge's source
        return rt.edge_sum(graph, message)


torch.manual_seed(0)
edge_index = torch.randint(0, 30, (2, 120))
graph = rodeo.Graph.from_edge_index(edge_index, 30)
layer = GatedConv(4, 3).double()
x = torch.randn(30, 4, dtype=torch.float64, requires_grad=True)
assert torch.autograd.gradcheck(lambda x: layer(x, graph), (x,))

source, target = edge_index
message = torch.sigmoid(layer.gate_target(x)[target] + layer.gate_source(x)[source]) * layer.value(x)[source]
expected = torch.zeros(30, 3, dtype=torch.float64).index_add(0, target, message)
torch.testing.assert_close(layer(x, graph), expected)
print("gradients agree with differences, outputs with the formula")
