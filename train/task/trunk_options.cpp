#include "train/task/model_registry.h"
#include "train/task/option_parts.h"
#include "train/task/trunk_model.h"

namespace rodeo {

void add_trunk_options(OptionGroup model) {
  // Exported weights say by it which layers they are of.
  model.add(
      kModel, "trunk",
      "Build the layers of a trunk, named as in PyG's BasicGNN, also without the options below; --batch does "
      "so for models other than sage",
      "", [](const TrainOptions& o) -> OptionValue { return uses_trunk(o); },
      [](TrainOptions& o, const std::string& text) { o.use_trunk = parse_option_flag("trunk", text); });
  model.choice(kModel, "norm", &TrunkParts::norm,
               "Normalise the output of each hidden layer before its activation, over nodes or over columns");
  model.flag(kModel, "residual", &TrunkParts::residual,
             "Add a linear layer of each layer's input to its output");
  model.choice(kModel, "jk", &TrunkParts::jump,
               "Jumping knowledge: a linear classifier reads the last layer, or all layers side by side, by "
               "their maximum or their sum");
  model.integer(kModel, "pre-linear", &TrunkParts::pre_linear, 0,
                "Linear layers before the first graph layer", kMostLayers);
  model.flag(kModel, "pre-linear-norm", &TrunkParts::pre_linear_norm,
             "With --pre-linear and --norm, normalise and activate the output of these layers too");
  model.flag(kModel, "post-linear", &TrunkParts::post_linear,
             "A linear classifier after the last layer, which becomes a hidden one: --jk last");
  model.flag(kModel, "no-bias", &TrunkParts::bias, "Graph layers without a bias", false);
  model.choice(kModel, "act", &TrunkParts::activation, "Activation of the hidden layers");
  model.text(kModel | kDropout, "layer-dropout", &TrainOptions::layer_dropout, "P,P,...",
             "Dropout probability of each hidden layer's output, a number for each (default: --dropout)",
             [](const std::string& text) { parse_layer_dropout(text); });
}

}  // namespace rodeo
