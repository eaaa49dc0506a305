#include "train/task/option_table.h"

#include "train/task/batch_options.h"
#include "train/task/class_objective.h"
#include "train/task/file_options.h"
#include "train/task/model_registry.h"
#include "train/task/option_group.h"
#include "train/task/trunk_model.h"

namespace rodeo {
namespace {

using Schedule = LrScheduleOptions;
using Role = OptionRole;
using Group = OptionGroup;

constexpr auto kGraphMetrics = enum_names<NodeMetric>(
    {{NodeMetric::kAccuracy, "accuracy"}, {NodeMetric::kMse, "mse"}, {NodeMetric::kMae, "mae"}});

void add_data(Group data, const TrainOptions& defaults) {
  data.text(Role::kRun, "dataset", field(&TrainOptions::dataset), "FILE",
            "HDF5 file with the graph (required)");
  const bool link = defaults.task == TaskKind::kLink;
  data.choice(Role::kModel, "task", field(&TrainOptions::task),
              "What is predicted: the class of each node, missing edges, or the class of each graph of a "
              "set. Each has its own options and defaults");
  if (link)
    data.text(
        Role::kTraining, "edge-split", field(&TrainOptions::edge_split), "A/B/C",
        "Shares of training, validation and test edges, drawn at random (default: the edges that the file "
        "names, else 85/5/10)");
  if (defaults.task == TaskKind::kNode)
    data.text(Role::kTraining, "split", field(&TrainOptions::split), "K|A/B/C|class:N/A/B[@SEED]",
              "Replaces the file's masks. 2: the file's split of that number, from 0; 60/20/20 or "
              "0.6/0.2/0.2: a random one; class:20/500/1000: random, 20 training nodes of each class, by "
              "--seed, or @123: by torch.randperm with that seed");
  data.flag(Role::kModel, "undirected", field(&TrainOptions::undirected),
            "Add the reverse of every edge and drop duplicates");
  data.two_words(Role::kModel, "normalize-features", field(&TrainOptions::normalize_features), "row", "none",
                 "row: divide each node's features by their sum; none");
}

void add_trunk(Group model) {
  // Exported weights say by it which layers they are of.
  model.add(
      Role::kModel, "trunk",
      "Build the layers of a trunk, named as in PyG's BasicGNN, also without the options below; --batch does "
      "so for models other than sage",
      "", [](const TrainOptions& o) -> OptionValue { return uses_trunk(o); },
      [](TrainOptions& o, const std::string& text) { o.use_trunk = parse_option_flag("trunk", text); });
  model.choice(Role::kModel, "norm", field(&TrunkParts::norm),
               "Normalise the output of each hidden layer before its activation, over nodes or over columns");
  model.flag(Role::kModel, "residual", field(&TrunkParts::residual),
             "Add a linear layer of each layer's input to its output");
  model.choice(Role::kModel, "jk", field(&TrunkParts::jump),
               "Jumping knowledge: a linear classifier reads the last layer, or all layers side by side, by "
               "their maximum or their sum");
  model.integer(Role::kModel, "pre-linear", field(&TrunkParts::pre_linear), 0,
                "Linear layers before the first graph layer");
  model.flag(Role::kModel, "pre-linear-norm", field(&TrunkParts::pre_linear_norm),
             "With --pre-linear and --norm, normalise and activate the output of these layers too");
  model.flag(Role::kModel, "post-linear", field(&TrunkParts::post_linear),
             "A linear classifier after the last layer, which becomes a hidden one: --jk last");
  model.flag(Role::kModel, "no-bias", field(&TrunkParts::bias), "Graph layers without a bias", false);
  model.choice(Role::kModel, "act", field(&TrunkParts::activation), "Activation of the hidden layers");
  model.add(
      Role::kModel, "layer-dropout",
      "Dropout probability of each hidden layer's output, a number for each (default: --dropout)", "P,P,...",
      [](const TrainOptions& o) {
        return o.layer_dropout.empty() ? OptionValue() : OptionValue(o.layer_dropout);
      },
      [](TrainOptions& o, const std::string& text) {
        check_option_has_value("layer-dropout", text);
        parse_layer_dropout(text);
        o.layer_dropout = text;
      });
}

void add_model(Group model, const ModelTraits& traits, TaskKind task) {
  model
      .add(
          Role::kModel, "model", model_names() + " (required). Each has its own options and defaults",
          model_names("|"), [](const TrainOptions& o) { return o.model; },
          [](TrainOptions& o, const std::string& text) {
            check_option_has_value("model", text);
            o.model = find_model(text).name;
          })
      .default_text.clear();
  if (traits.hidden_layers) {
    model.integer(Role::kModel, "hidden", field(&TrainOptions::hidden), 1,
                  traits.heads ? "Width of each head of the hidden layers" : "Width of the hidden layers");
    model.integer(Role::kModel, "layers", field(&TrainOptions::layers), 1, "Number of layers");
    model.probability(Role::kModel, "dropout", field(&TrainOptions::dropout),
                      "Dropout probability of each layer's input");
    if (task != TaskKind::kGraph)
      model
          .add(
              Role::kModel, "input-dropout",
              traits.propagates_inputs
                  ? "Dropout probability of the features (default: --dropout). With 0, dense features are "
                    "propagated once instead of in every epoch: exact, because they do not change"
                  : "Dropout probability of the features (default: --dropout)",
              "P", [](const TrainOptions& o) { return o.input_dropout.value_or(o.dropout); },
              [](TrainOptions& o, const std::string& text) {
                o.input_dropout =
                    parse_option_number<double>("input-dropout", text, "a number in [0, 1)", is_probability);
              })
          .default_text.clear();
  }
  if (task == TaskKind::kGraph)
    model.choice(Role::kModel, "pool", field(&TrainOptions::pool),
                 "Readout: how the rows of a graph's nodes become one row");
  if (task != TaskKind::kLink && traits.edge_features)
    model.flag(Role::kModel, "edge-features", field(&TrainOptions::edge_features),
               traits.heads
                   ? "Read the file's edge features (edge_attr): they join the attention scores"
                   : "Read the file's edge features (edge_attr): GINE, ReLU of a neighbour plus its edge");
  if (task == TaskKind::kLink) {
    model.integer(Role::kModel, "embedding", field(&TrainOptions::embedding), 1,
                  "Columns of a node's embedding, which the decoder reads");
    model.choice(Role::kModel, "decoder", field(&TrainOptions::decoder),
                 "Score of a pair of nodes from their embeddings. dot: their dot product; mlp: two layers on "
                 "their elementwise product; bilinear: u^T W v");
  }
  if (traits.heads) {
    model.integer(Role::kModel, "heads", field(&TrainOptions::heads), 1,
                  "Heads of the hidden layers, concatenated");
    model.integer(Role::kModel, "out-heads", field(&TrainOptions::out_heads), 1,
                  "Heads of the last layer, averaged. The paper uses for PubMed:\n"
                  "--out-heads 8 --weight-decay 1e-3 --lr 0.01");
    model.probability(Role::kModel, "attn-dropout", field(&TrainOptions::attention_dropout),
                      "Dropout probability of the attention weights");
    model.not_negative(Role::kModel, "negative-slope", field(&TrainOptions::negative_slope),
                       "Negative slope of the LeakyReLU of attention scores");
    model.flag(Role::kModel, "no-self-loops", field(&TrainOptions::self_loops),
               "Attend to neighbours only, without adding a self loop to each node", false);
  }
  if (traits.trunk) add_trunk(model);
  if (traits.aggr)
    model.choice(Role::kModel, "aggr", field(&TrainOptions::aggr),
                 "Aggregation over neighbours: mean, max, min or sum");
  if (traits.aggr)
    model.flag(Role::kModel, "self-loops", field(&TrainOptions::sage_loops),
               "Add a self loop to each node: it is one of its own neighbours");
  if (traits.train_eps)
    model.flag(Role::kModel, "train-eps", field(&TrainOptions::train_eps),
               "Learn the weight 1 + eps of a node's own features");
  if (traits.hops)
    model.integer(Role::kModel, "hops", field(&TrainOptions::hops), 1, "Number of propagation steps");
  if (traits.teleport) {
    model.number(
        Role::kModel, "alpha", field(&TrainOptions::alpha), "a number in [0, 1]",
        [](double x) { return x >= 0 && x <= 1; }, "Teleport probability: share of a node's own prediction");
    model.probability(Role::kModel, "edge-dropout", field(&TrainOptions::edge_dropout),
                      "Dropout probability of the edges in each propagation step");
  }
}

/// The row has a value only for optimizers with momentum.
void only_with_momentum(TrainOption& row) {
  row.get = [get = std::move(row.get)](const TrainOptions& o) {
    return find_optimizer(o.optimizer.name).momentum ? get(o) : OptionValue();
  };
}

void add_optimizer(Group training) {
  training.add(
      Role::kTraining, "optimizer", "PyTorch's Adam, AdamW (weight decay apart from the gradient) or SGD",
      optimizer_names("|"), [](const TrainOptions& o) { return o.optimizer.name; },
      [](TrainOptions& o, const std::string& text) {
        check_option_has_value("optimizer", text);
        o.optimizer.name = find_optimizer(text).name;
      });
  only_with_momentum(training.not_negative(Role::kTraining, "momentum", field(&OptimizerOptions::momentum),
                                           "sgd: momentum, without dampening"));
  only_with_momentum(training.flag(Role::kTraining, "nesterov", field(&OptimizerOptions::nesterov),
                                   "sgd: Nesterov's form of --momentum"));
}

void add_schedule(Group training) {
  using Kind = Schedule::Kind;
  training.choice(Role::kTraining, "lr-schedule", field(&Schedule::kind),
                  "Learning rate schedule: PyTorch's StepLR, CosineAnnealingLR or ReduceLROnPlateau");
  only_for(training.integer(Role::kTraining, "lr-step", field(&Schedule::step), 1,
                            "step: epochs between reductions"),
           Kind::kStep, Kind::kStep);
  only_for(training.number(
               Role::kTraining, "lr-factor", field(&Schedule::factor), "a number in (0, 1]",
               [](double x) { return x > 0 && x <= 1; }, "step, plateau: factor of each reduction"),
           Kind::kStep, Kind::kPlateau);
  TrainOption& period = training.integer(Role::kTraining, "lr-period", field(&Schedule::period), 0,
                                         "cosine: epochs until the lowest rate; 0: --epochs");
  only_for(period, Kind::kCosine, Kind::kCosine);
  period.default_text = "0";
  only_for(training.not_negative(Role::kTraining, "lr-least", field(&Schedule::least),
                                 "cosine, plateau: lowest learning rate"),
           Kind::kCosine, Kind::kPlateau);
  only_for(training.integer(Role::kTraining, "lr-patience", field(&Schedule::patience), 0,
                            "plateau: evaluations without a lower validation loss before a reduction"),
           Kind::kPlateau, Kind::kPlateau);
}

void add_regression_loss(Group training) {
  training.choice(Role::kTraining, "loss", field(&TrainOptions::loss),
                  "Loss where labels are numbers: mean squared or absolute error");
}

void add_graph_objective(Group training) {
  training.choice(Role::kTraining, "metric", field(&TrainOptions::metric), kGraphMetrics,
                  "--metric of --task graph",
                  "What decides the best epoch and --patience, and is printed. accuracy: R^2 of numbers; mse "
                  "and mae: of numbers, with a minus sign");
  add_regression_loss(training);
}

void add_node_objective(Group training) {
  training.choice(
      Role::kTraining, "metric", field(&TrainOptions::metric),
      "What decides the best epoch and --patience, and is printed. accuracy: micro-F1 with several "
      "labels per node, R^2 of numbers; ap: average precision. roc-auc and ap: of the second of two classes, "
      "else the mean over classes. mse and mae: of numbers, with a minus sign");
  add_regression_loss(training);
  training.add(
      Role::kTraining, "class-weights",
      "Weights of the classes in the loss. balanced: inversely to their share of the training nodes",
      "balanced|W,W,...",
      [](const TrainOptions& o) {
        return o.class_weights.empty() ? OptionValue() : OptionValue(o.class_weights);
      },
      [](TrainOptions& o, const std::string& text) {
        check_option_has_value("class-weights", text);
        check_class_weights(text);
        o.class_weights = text;
      });
  training.probability(Role::kTraining, "label-smoothing", field(&TrainOptions::label_smoothing),
                       "Share of the target that is spread over all classes");
}

void add_training(Group training, const ModelTraits& traits, TaskKind task) {
  training.integer(Role::kRun, "epochs", field(&TrainOptions::epochs), 1, "Number of epochs");
  training.number(
      Role::kTraining, "lr", field(&TrainOptions::lr), "a number above 0",
      [](double x) { return x > 0 && std::isfinite(x); }, "Learning rate");
  training.not_negative(Role::kTraining, "weight-decay", field(&TrainOptions::weight_decay),
                        traits.decay_all ? "L2 penalty on all parameters"
                        : traits.trunk
                            ? "L2 penalty on the first layer; on all parameters with --norm, --residual, "
                              "--jk, --act, --pre-linear, --post-linear or --layer-dropout"
                            : "L2 penalty on the first layer");
  add_optimizer(training);
  training.integer(Role::kTraining, "seed", field(&TrainOptions::seed), 0,
                   "Seed of the initial weights, dropout and --split");
  training.integer(Role::kRun, "seeds", field(&TrainOptions::seeds), 1,
                   "Train N times, with --seed and the numbers after it, and print mean and deviation; with "
                   "--splits all N times on each split");
  training.integer(Role::kRun, "parallel", field(&TrainOptions::parallel), 1,
                   "Train N at a time of the runs of --seeds, --splits and folds, on one device");
  if (task == TaskKind::kNode) {
    training.add(
        Role::kRun, "splits", "all: train with each split of the file's masks, once or with each of --seeds",
        "all", [](const TrainOptions& o) { return o.all_splits ? OptionValue("all") : OptionValue(); },
        [](TrainOptions& o, const std::string& text) {
          check_option_has_value("splits", text);
          check(text == "all", "--splits must be all, got '", text, "'; --split K takes one of them");
          o.all_splits = true;
        });
  }
  training.integer(Role::kRun, "eval-every", field(&TrainOptions::eval_every), 1,
                   "Epochs between evaluations");
  training.integer(Role::kRun, "patience", field(&TrainOptions::patience), 0,
                   "Stop after N epochs without a better validation result; 0: never");
  training.two_words(Role::kRun, "stop-on", field(&TrainOptions::stop_on_loss), "loss", "accuracy",
                     "What --patience looks at: validation accuracy, or loss (the rule of Kipf & Welling)");
  if (traits.blocks) add_batch_options(training);
  if (task == TaskKind::kGraph) {
    training.integer(Role::kTraining, "batch-graphs", field(&TrainOptions::batch_graphs), 2,
                     "Graphs in a mini-batch");
    training.integer(
        Role::kTraining, "folds", field(&TrainOptions::folds), 3,
        "Parts of the graphs, with equal shares of the classes: one is tested on, the next validates");
    training.add(
        Role::kTraining, "fold", "The part to test on, from 0; all: one run for each, and their mean",
        "K|all",
        [](const TrainOptions& o) -> OptionValue { return o.fold < 0 ? "all" : std::to_string(o.fold); },
        [](TrainOptions& o, const std::string& text) {
          o.fold = text == "all" ? -1 : parse_option_integer<int>("fold", text, 0);
        });
  }
  if (task == TaskKind::kNode) add_node_objective(training);
  if (task == TaskKind::kGraph) add_graph_objective(training);
  if (task == TaskKind::kLink) {
    training.choice(
        Role::kTraining, "link-metric", field(&TrainOptions::link_metric),
        "What decides the best epoch: ROC-AUC, average precision, mean reciprocal rank or Hits@K");
    training.integer(Role::kTraining, "hits", field(&TrainOptions::hits), 1, "K of Hits@K");
  }
  add_schedule(training);
  training.not_negative(Role::kTraining, "clip-norm", field(&TrainOptions::clip_norm),
                        "Clip the norm of all gradients together to this value; 0: no clipping");
  training.two_words(Role::kRun, "on-nan", field(&TrainOptions::stop_at_nan), "stop", "continue",
                     "If a loss is not finite: stop with exit code 3, or continue");
}

void add_execution(Group execution, const ModelTraits& traits, TaskKind task) {
  execution.text(Role::kRun, "device", field(&TrainOptions::device), "auto|cpu|cuda",
                 "auto, cpu, cuda or cuda:i");
  execution.integer(Role::kRun, "gpus", field(&TrainOptions::gpus), 0,
                    "Train the full graph, or shares of each --batch, on N GPUs of this host; 0: on one, or "
                    "as mpirun, srun "
                    "or torchrun say");
  execution.integer(Role::kRun, "ranks", field(&TrainOptions::ranks), 0,
                    "The same on N processes with --device, such as cpu");
  if (task != TaskKind::kGraph)
    execution.choice(Role::kRun, "aggregation", field(&TrainOptions::aggregation),
                     "What ranks exchange: the rows of all nodes, some columns of all rows (sums, "
                     "GAT), the rows that their edges read, or the fastest of them");
  execution.integer(Role::kRun, "threads", field(&TrainOptions::threads), 0,
                    "CPU threads; 0: OMP_NUM_THREADS, else as many as processors");
  if (traits.attention_form)
    execution.choice(Role::kRun, "attention", field(&TrainOptions::attention),
                     "fused: one kernel without per-edge tensors; composed: one op after another; or auto");
  if (traits.heads)
    execution.choice(
        Role::kRun, "sddmm", field(&TrainOptions::sddmm),
        std::string("How composed attention computes the gradient of its weights on CUDA. rows: RoDe's row "
                    "decomposition; edges: across rows; auto: the faster one, timed once") +
            (traits.attention_form ? ". With --attention composed" : ""));
  if (traits.spmm) {
    execution.choice(Role::kRun, "spmm", field(&TrainOptions::spmm),
                     "SpMM algorithm: " + kEnumNames<SpmmAlgorithm>.names());
    execution.choice(Role::kRun, "spmm-accumulate", field(&TrainOptions::spmm_accumulate),
                     "How sums of split rows are combined. ordered: the same bits in every run; atomic: by "
                     "atomicAdd, on CUDA in fp32 and tf32, for --spmm rode and auto");
  }
  if (task != TaskKind::kGraph)
    execution.choice(Role::kRun, "features", field(&TrainOptions::features),
                     "Storage of the input features: dense, sparse (zeros are not stored: exact), or auto");
  if (task != TaskKind::kGraph)
    execution.choice(
        Role::kTraining, "reorder", field(&TrainOptions::reorder),
        "Reorder the nodes for training, so that neighbours are closer in memory. Results keep the "
        "file's order. rabbit: by communities; rcm: reverse Cuthill-McKee; degree");
  if (traits.prune_rows && task == TaskKind::kNode)
    execution.flag(Role::kRun, "prune-rows", field(&TrainOptions::prune_rows),
                   "In training steps, compute the last layer for the training nodes only: exact, and "
                   "evaluations still compute all nodes. Faster where few nodes are trained on");
  execution.choice(
      Role::kTraining, "precision", field(&TrainOptions::precision),
      "fp32; tf32: matrix products round their inputs to 10 bits; bf16: features and activations take half "
      "the bytes, parameters and sums stay fp32. Both are meant for CUDA: the CPU ignores tf32, and is "
      "slower with bf16");
  execution.flag(Role::kRun, "no-cuda-graph", field(&TrainOptions::cuda_graph),
                 "On CUDA, launch every kernel instead of replaying a captured CUDA graph", false);
}

}  // namespace

std::vector<TrainOption> option_table(const TrainOptions& defaults) {
  const ModelTraits& traits = traits_of(defaults);
  std::vector<TrainOption> table;
  const auto group = [&](std::string_view name) { return Group(table, name, defaults); };
  add_data(group("Data"), defaults);
  add_model(group("Model"), traits, defaults.task);
  add_training(group("Training"), traits, defaults.task);
  add_execution(group("Execution"), traits, defaults.task);
  add_files(group("Files"), traits, defaults.task);
  add_output(group("Output"), traits, defaults.task);
  return table;
}

}  // namespace rodeo
