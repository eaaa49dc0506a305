/// The model registry: one row for each model.

#include "layers/gcn2_conv.h"
#include "layers/node_conv.h"
#include "layers/pna_conv.h"
#include "layers/transformer_conv.h"
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
     .graphs = true,
     .decays_first_layer = true},
    // Velickovic et al. (ICLR 2018), Cora and CiteSeer.
    {.name = "gat",
     .title = "GAT",
     .conv = &kGat,
     .preset = &kPublishedGat,
     .set_published = set_published_gat},
    // Brody et al. (ICLR 2022); hyperparameters of the GAT.
    {.name = "gatv2",
     .title = "GATv2",
     .conv = &kGatv2,
     .preset = &kPublishedGat,
     .set_published = set_published_gat},
    // Shi et al. (IJCAI 2021) train on other graphs; hyperparameters of the GAT.
    {.name = "transformer",
     .title = "Transformer",
     .conv = &kTransformer,
     .preset = &kPublishedGat,
     .set_published = set_published_gat},
    // The paper of SAGE has other tasks; hyperparameters of the GCN.
    {.name = "sage", .title = "SAGE", .conv = &kSage, .preset = &kPublishedSage},
    // The paper of GIN has other tasks; hyperparameters of the GCN, but for the width.
    {.name = "gin",
     .title = "GIN",
     .edge_title = "GINE",
     .conv = &kGin,
     .preset = &kPublishedGin,
     .graphs = true,
     .set_published = [](TrainOptions& options) { options.hidden = 64; }},
    // Wu et al. (ICML 2019).
    {.name = "sgc",
     .title = "SGC",
     .conv = &kSgc,
     .preset = &kPublishedSgc,
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
     .decays_first_layer = true,
     .set_published =
         [](TrainOptions& options) {
           options.hidden = 64;
           options.hops = 10;
           options.weight_decay = 5e-3;
         }},
    // Chen et al. (ICML 2020), Cora.
    {.name = "gcn2",
     .title = "GCNII",
     .conv = &kGcn2,
     .linear_decay = 0.05,
     .set_published =
         [](TrainOptions& options) {
           options.hidden = 64;
           options.layers = 64;
           options.dropout = 0.6;
           options.epochs = 1500;
           options.weight_decay = 0.01;
           options.trunk.pre_linear = 1;
           options.trunk.post_linear = true;
         }},
    // Corso et al. (NeurIPS 2020) has other tasks; a width, normalisation and embedding of its networks.
    {.name = "pna",
     .title = "PNA",
     .conv = &kPna,
     .set_published =
         [](TrainOptions& options) {
           options.hidden = 64;
           options.trunk.pre_linear = 1;
           options.trunk.norm = TrunkNorm::kBatch;
         }},
    // The control: no edges; hyperparameters of the GCN.
    {.name = "mlp", .title = "MLP", .conv = &kMlp, .graphs = true},
};

constexpr ConvKind kRelational{"relational", {.sparse_inputs = false}, nullptr},
    kRelationalHeads{"relational_heads", {.heads = true, .sparse_inputs = false}, nullptr};

void set_relational(TrainOptions& options) {
  options.hidden = 64;
  options.trunk.pre_linear = 1;
  options.weight_decay = 0;
}

void set_relational_heads(TrainOptions& options) {
  set_relational(options);
  options.hidden = 16;
  options.heads = 4;
  options.attention_dropout = 0;
}

constexpr ModelEntry kHeteroModels[] = {
    // Schlichtkrull et al. (ESWC 2018).
    {.name = "rgcn",
     .title = "R-GCN",
     .conv = &kRelational,
     .relations = true,
     .set_published = set_relational},
    // The form of MLPerf: a GAT for each relation, whose results are added.
    {.name = "rgat",
     .title = "R-GAT",
     .conv = &kRelationalHeads,
     .relations = true,
     .set_published = set_relational_heads},
    // Hu et al. (WWW 2020).
    {.name = "hgt",
     .title = "HGT",
     .conv = &kRelationalHeads,
     .relations = true,
     .set_published = set_relational_heads},
    // SAGE for each relation, whose results are added.
    {.name = "hetero-sage",
     .title = "hetero-SAGE",
     .conv = &kRelational,
     .relations = true,
     .set_published = set_relational},
};

}  // namespace

std::span<const ModelEntry> model_registry() {
  return kModels;
}

std::span<const ModelEntry> hetero_model_registry() {
  return kHeteroModels;
}

}  // namespace rodeo
