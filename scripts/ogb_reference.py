#!/usr/bin/env python3
"""Writes what OGB's evaluators say about random predictions, for tests/train/ogb_reference_test.cpp.

    venv/bin/pip install ogb==1.3.6
    venv/bin/python scripts/ogb_reference.py [SEED] > tests/data/ogb_reference.txt

The format is that of scripts/pyg_reference.py. Scores are multiples of 1/8, so that many are equal. Labels of -1 are
missing ones, NaN for OGB.
"""
import sys

import numpy
import torch
from ogb.graphproppred import Evaluator as Graphs
from ogb.linkproppred import Evaluator as Links
from ogb.nodeproppred import Evaluator as Nodes

random = numpy.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)


def scores(*sizes):
    return numpy.round(random.normal(size=sizes) * 8) / 8


def emit(name, value):
    value = numpy.asarray(value, dtype=float)
    print(name + "".join(f" {size}" for size in value.shape) + " :" + "".join(f" {number:.15g}" for number in value.ravel()))


print("case classes")
logits, label = scores(60, 5), random.integers(5, size=60)
emit("logits", logits)
emit("label", label)
emit("accuracy", [Nodes("ogbn-arxiv").eval({"y_true": label[:, None], "y_pred": logits.argmax(1)[:, None]})["acc"]])

print("case tasks")
logits, label = scores(80, 6), random.integers(2, size=(80, 6)).astype(float)
label[random.random((80, 6)) < 0.3] = numpy.nan
for task, one in (2, 0), (3, 1):  # a task of one label counts nowhere
    label[:, task] = numpy.where(numpy.isnan(label[:, task]), numpy.nan, one)
emit("logits", logits)
emit("label", numpy.nan_to_num(label, nan=-1))
for name, data, key in ("roc-auc", "ogbg-moltox21", "rocauc"), ("ap", "ogbg-molpcba", "ap"):
    graphs = Graphs(data)
    graphs.num_tasks = 6
    emit(name, [graphs.eval({"y_true": label, "y_pred": logits})[key]])

print("case numbers")
predicted, target = random.normal(size=(50, 1)), random.normal(size=(50, 1))
emit("predicted", predicted)
emit("target", target)
emit("rmse", [Graphs("ogbg-molesol").eval({"y_true": target, "y_pred": predicted})["rmse"]])

print("case links")
positive, negative = scores(70), scores(90)
emit("positive", positive)
emit("negative", negative)
for k in 20, 50, 100:
    links = Links("ogbl-ppa")
    links.K = k
    emit(f"hits{k}", [links.eval({"y_pred_pos": positive, "y_pred_neg": negative})[f"hits@{k}"]])
lists = scores(70, 90)
emit("lists", lists)
ranks = Links("ogbl-citation2").eval({"y_pred_pos": torch.tensor(positive), "y_pred_neg": torch.tensor(lists)})
for key in "mrr", "hits@1", "hits@3", "hits@10":
    emit("lists_" + key.replace("@", ""), [ranks[f"{key}_list"].double().mean()])
ranks = Links("ogbl-citation2").eval({"y_pred_pos": torch.tensor(positive), "y_pred_neg": torch.tensor(numpy.tile(negative, (70, 1)))})
emit("mrr", [ranks["mrr_list"].double().mean()])

print("case ties")
equal = numpy.ones(40)
links = Links("ogbl-collab")
emit("hits50", [links.eval({"y_pred_pos": equal[:30], "y_pred_neg": numpy.tile(equal, 2)})["hits@50"]])
ranks = Links("ogbl-citation2").eval({"y_pred_pos": torch.tensor(equal[:30]), "y_pred_neg": torch.ones(30, 80)})
emit("mrr", [ranks["mrr_list"].double().mean()])
