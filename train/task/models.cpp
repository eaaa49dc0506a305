/// The model registry: one row for each model.
#include <string_view>

#include "models/appnp.h"
#include "models/gat.h"
#include "models/gcn.h"
#include "models/gin.h"
#include "models/sage.h"
#include "models/sgc.h"
#include "train/task/model_registry.h"

namespace rodeo {
namespace {

void set_published_gat(TrainOptions& options) {
  options.hidden = 8;
  options.trunk.activation = TrunkActivation::kElu;
  options.dropout = 0.6;
  options.lr = 0.005;
}

constexpr ModelEntry kModels[] = {
    // Kipf & Welling (ICLR 2017).
    {.name = "gcn",
     .title = "GCN",
     .conv = &kGcn,
     .preset = &kPublishedGcn,
     .traits = {.hidden_layers = true,
                .spmm = true,
                .prune_rows = true,
                .graphs = true,
                .blocks = true,
                .trunk = true,
                .propagates_inputs = true,
                .sparse_features = true}},
    // Velickovic et al. (ICLR 2018), Cora and CiteSeer.
    {.name = "gat",
     .title = "GAT",
     .conv = &kGat,
     .preset = &kPublishedGat,
     .traits = {.hidden_layers = true,
                .heads = true,
                .attention_form = true,
                .prune_rows = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .sparse_features = true},
     .set_published = set_published_gat},
    // Brody et al. (ICLR 2022); hyperparameters of the GAT.
    {.name = "gatv2",
     .title = "GATv2",
     .conv = &kGatv2,
     .preset = &kPublishedGat,
     .traits = {.hidden_layers = true,
                .heads = true,
                .prune_rows = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .edge_features = true,
                .sparse_features = true},
     .set_published = set_published_gat},
    // The paper of SAGE has other tasks; hyperparameters of the GCN.
    {.name = "sage",
     .title = "SAGE",
     .conv = &kSage,
     .preset = &kPublishedSage,
     .traits = {.hidden_layers = true,
                .spmm = true,
                .aggr = true,
                .prune_rows = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .sparse_features = true}},
    // The paper of GIN has other tasks; hyperparameters of the GCN, but for the width.
    {.name = "gin",
     .title = "GIN",
     .edge_title = "GINE",
     .conv = &kGin,
     .preset = &kPublishedGin,
     .traits = {.hidden_layers = true,
                .spmm = true,
                .train_eps = true,
                .graphs = true,
                .blocks = true,
                .trunk = true,
                .decay_all = true,
                .edge_features = true,
                .sparse_features = true},
     .set_published = [](TrainOptions& options) { options.hidden = 64; }},
    // Wu et al. (ICML 2019).
    {.name = "sgc",
     .title = "SGC",
     .conv = &kSgc,
     .preset = &kPublishedSgc,
     .traits = {.spmm = true,
                .hops = true,
                .prune_rows = true,
                .decay_all = true,
                .keeps_propagated = true,
                .sparse_features = true},
     .set_published =
         [](TrainOptions& options) {
           options.epochs = 100;
           options.lr = 0.2;
           options.weight_decay = 1.3e-5;
         }},
    // Klicpera et al. (ICLR 2019).
    {.name = "appnp",
     .title = "APPNP",
     .conv = &kAppnp,
     .preset = &kPublishedAppnp,
     .traits = {.hidden_layers = true,
                .spmm = true,
                .hops = true,
                .teleport = true,
                .prune_rows = true,
                .sparse_features = true},
     .set_published =
         [](TrainOptions& options) {
           options.hidden = 64;
           options.hops = 10;
           options.weight_decay = 5e-3;
         }},
};

}  // namespace

std::span<const ModelEntry> model_registry() {
  return kModels;
}

}  // namespace rodeo
