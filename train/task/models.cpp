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
};

}  // namespace

std::span<const ModelEntry> model_registry() {
  return kModels;
}

}  // namespace rodeo
